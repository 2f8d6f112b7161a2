import { expect, onTestFinished, test } from 'vitest';
import { createPageHome, SESSIONS } from '../../docs/page-home.js';
import { readPage } from '../../docs/pages.js';
import { runPage, shapeOf } from '../../docs/session.js';
import { takePort } from '../../helpers/ports.js';

test.each(SESSIONS)('%s: every command prints what the page shows', async (page) => {
  const home = await createPageHome({ port: await takePort() });
  onTestFinished(() => home.close());
  const { runs } = await runPage(readPage(page), home);
  expect(runs.length).toBeGreaterThan(3);
  for (const { command, output, expected } of runs)
    expect([command, ...shapeOf(output)]).toEqual([command, ...shapeOf(expected)]);
});
