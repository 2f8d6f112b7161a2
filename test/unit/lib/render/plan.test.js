import { expect, test } from 'vitest';
import { renderPlan } from '../../../../lib/render/plan.js';

const paint = (_style, text) => text;
const item = (name, action, changes = []) => ({
  name,
  action,
  changes: changes.map(([field, attribute, before, after]) => ({ field, attribute, before, after })),
});
const asked = (plan, left = []) => ({ plan, left, shown: '/srv/nclust.config.js' });

const PLAN = [
  item('api', 'rollout', [
    ['env', 'env.PORT', '80', null],
    ['env', 'env.NAME', '', 'x'],
    ['killTimeoutMs', 'kill_timeout', 10_000, 1_500],
  ]),
  item('a-worker', 'live', [
    ['maxMemoryBytes', 'max_memory_restart', 300 * 1024 ** 2, 1_500],
    ['outFile', 'out_file', '', '/var/log/w.log'],
    ['args', 'args', [], ['a', 'b']],
  ]),
  item('new', 'start'),
  item('old', 'delete'),
  item('same', 'none'),
];

test('a plan names each app that differs from the file, its action and the reason', () => {
  expect(renderPlan(asked(PLAN), { paint, isWhole: false })).toBe(`Plan for /srv/nclust.config.js:
  ~ api       rollout  env.PORT, env.NAME, kill_timeout
  ~ a-worker  live     max_memory_restart, out_file, args
  + new       start
  - old       delete
  1 app matches the file.
`);
});

test('a whole plan shows the old and the new value of each attribute, as a file has them', () => {
  expect(renderPlan(asked(PLAN.slice(0, 2)), { paint, isWhole: true })).toBe(`Plan for /srv/nclust.config.js:
  ~ api       rollout
      env.PORT: 80 → (not set)
      env.NAME: "" → x
      kill_timeout: 10s → 1.5s
  ~ a-worker  live
      max_memory_restart: 300M → 1500
      out_file: default → /var/log/w.log
      args: [] → ["a","b"]
`);
});

test('a plan without actions reports that there is nothing to do', () => {
  expect(renderPlan(asked([item('api', 'none'), item('b', 'none')]), { paint, isWhole: false })).toBe(
    'Nothing to do: 2 apps match the file.\n',
  );
  expect(renderPlan(asked([]), { paint, isWhole: false })).toBe('There is nothing to do.\n');
});

test('a plan names apps that are no longer in the file', () => {
  expect(renderPlan(asked([item('api', 'none')], ['old', 'older']), { paint, isWhole: false })).toBe(
    'Nothing to do: 1 app matches the file.\n"old", "older" came from this file, but are no longer in it; ' +
      'they stay. --prune deletes such apps.\n',
  );
});

test('escape codes in names and values have no effect', () => {
  expect(
    renderPlan(asked([item('a\u001b[2Jb', 'live', [['args', 'args', 'x\u001b[2J', 'y'.repeat(400)]])]), {
      paint,
      isWhole: true,
    }),
  ).not.toMatch(/\u001b|y{201}/);
});
