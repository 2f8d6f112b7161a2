import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { EVENT_TYPES } from '../../../../lib/render/event-text.js';
import { runCommandLine } from '../run-command-line.js';

let home;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'nclust-events-'));
  writeFileSync(
    join(home, 'events.log'),
    [
      { at: 1, type: 'added', app: 'api', instances: 1 },
      { at: 2, type: 'died', app: 'api' },
    ]
      .map((event) => `${JSON.stringify(event)}\n`)
      .join(''),
  );
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

async function events(...argv) {
  return runCommandLine(['events', '--nostream', ...argv], { cwd: home, env: { NCLUST_HOME: home } });
}

test('docs/events.md lists all types', () => {
  const text = readFileSync(new URL('../../../../docs/events.md', import.meta.url), 'utf8');
  const table = text.slice(text.indexOf('| type | when'), text.indexOf('A later version may add'));
  const documented = table
    .split('\n')
    .filter((row) => row.startsWith('| `'))
    .flatMap((row) => [...row.split('|')[1].matchAll(/`([^`]+)`/g)].map(([, type]) => type));
  expect([...EVENT_TYPES].sort()).toEqual(documented.sort());
});

test.each([
  ['nosuch', /There is no event of the type "nosuch"\.[^]*The types are in docs\/events\.md/],
  ['diedd', /"diedd"[^]*Did you mean "died"\?/],
  ['rollout', /"rollout"[^]*Did you mean "rollout:\*"\?/],
  ['added,gaveup', /"gaveup"[^]*Did you mean "gave-up"\?/],
])('--type %s is refused with a suggestion', async (type, said) => {
  expect(await events('--type', type)).toMatchObject({
    exitStatus: 2,
    stdout: '',
    stderr: expect.stringMatching(said),
  });
});

test.each([
  ['added', 'added'],
  ['add*', 'added'],
  ['nosuch*', null],
  ['gave-up', null],
])('--type %s selects events', async (type, found) => {
  const { exitStatus, stdout } = await events('--json', '--type', type);
  expect(exitStatus).toBe(0);
  expect(stdout === '' ? null : JSON.parse(stdout).type).toBe(found);
});
