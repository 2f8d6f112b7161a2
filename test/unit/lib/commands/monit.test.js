import { expect, test } from 'vitest';
import { monit } from '../../../../lib/commands/monit.js';
import { renderSnapshot } from '../../../../lib/monit/snapshot.js';
import { createPaint } from '../../../../lib/render/paint.js';
import { NclustError } from '../../../../lib/shared/errors.js';
import { sampleOf } from '../monit/sample.js';
import { trouble } from '../slots.js';

const contextWith = (request) => ({
  home: '/nowhere',
  env: {},
  isTerminal: false,
  runningManager: async () => ({ request }),
});

test('monit without a terminal returns the figures of all workers', async () => {
  const sample = { ...sampleOf({ api: 2, big: 20 }), troubles: [trouble('slow', { slots: [1] })] };
  const data = await monit(
    contextWith(async () => sample),
    [],
    {},
  );
  const text = renderSnapshot(data, { columns: null, paint: createPaint(0), nowMs: 0 });
  expect(text).toMatch(/^cpu 34\.0% of 4, memory 3\.0gb of 8\.0gb, load 0\.50 0\.40 0\.30\n/);
  expect(text).toMatch(/│ api +│ +│ +│ online 2\/2 ! +│ 3\.0% +│ 100\.0mb/);
  expect(text).toMatch(/│ 21 │ └ 19 +│ 4021/);
  expect(text).toMatch(/\napi needs attention: nclust why\n$/);
  expect(data.sample.troubles).toEqual(sample.troubles);
});

test('monit suggests an update if the manager is too old', async () => {
  const old = contextWith(async () => {
    throw new NclustError('ERR_NCLUST_PROTOCOL', 'Unknown method "metrics".');
  });
  await expect(monit(old, [], {})).rejects.toMatchObject({
    code: 'ERR_NCLUST_PROTOCOL',
    message: expect.stringContaining('older'),
    hint: expect.stringContaining('nclust update'),
  });
});

test('monit fails without a manager', async () => {
  await expect(
    monit({ ...contextWith(async () => null), runningManager: async () => null }, [], {}),
  ).rejects.toMatchObject({
    code: 'ERR_NCLUST_DAEMON_NOT_RUNNING',
  });
});
