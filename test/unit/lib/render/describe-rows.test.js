import { expect, test } from 'vitest';
import { clockTime } from '../../../../lib/figures/format.js';
import { triggerRows } from '../../../../lib/render/describe-rows.js';
import { toPm2 } from '../../../../lib/render/jlist.js';
import { checkSpec } from '../../../../lib/app-spec/check.js';
import { slotStatus } from '../slots.js';

const MB = 1024 ** 2;
const NOW = Date.UTC(2026, 0, 1);
const spec = (fields = {}) =>
  checkSpec({ name: 'api', kind: 'node', file: '/usr/bin/node', script: '/srv/app.js', cwd: '/srv', ...fields });
const none = { watch: null, nextRunMs: null, memory: null, last: null };

const rows = (fields, triggers = {}, slot = {}) =>
  Object.fromEntries(
    triggerRows(
      slotStatus({ spec: spec(fields), triggers: { ...none, ...triggers }, pidFile: '/h/pids/api-0.pid', ...slot }),
      NOW,
    ).map(([key, cell]) => [key, typeof cell === 'string' ? cell : cell.text]),
  );

test('triggers that are not set have no row', () => {
  expect(rows({})).toEqual({ 'pid path': '/h/pids/api-0.pid', 'watch & reload': 'disabled' });
});

test.each([
  [{ paths: ['/srv/src'], isReady: true, problem: null }, true, '/srv/src'],
  [{ paths: ['/srv/src'], isReady: false, problem: null }, true, 'not yet: /srv/src'],
  [null, false, 'when it runs: src'],
])('the row of watch %j shows its state', (watch, watching, text) => {
  expect(rows({ watch: ['src'] }, { watch }, { watching })['watch & reload']).toBe(text);
});

test('the watch row shows that watching is off, or its problem', () => {
  expect(rows({ watch: ['src'], watchOff: true })['watch & reload']).toBe('disabled for now: src');
  expect(
    rows({ watch: ['src'] }, { watch: { paths: [], isReady: false, problem: 'no more watches' } }, { watching: true })[
      'watch problem'
    ],
  ).toBe('no more watches');
});

test('the cron row of a stopped app shows that cron does not start it', () => {
  expect(rows({ cronRestart: '@daily' }, {}, { status: 'stopped' })).toMatchObject({
    'cron restart': '@daily, not while it is stopped',
  });
});

test('cron, the memory limit and the last trigger have rows', () => {
  expect(
    rows(
      { cronRestart: '0 3 * * *', maxMemoryBytes: 300 * MB },
      {
        nextRunMs: NOW + 90_000,
        memory: { bytes: 250 * MB, misses: 0 },
        last: { atMs: NOW, by: 'watch: a.js changed', problem: 'it does not parse' },
      },
    ),
  ).toMatchObject({
    'cron restart': `0 3 * * *, next ${clockTime(NOW + 90_000, NOW)} (in 1m 30s)`,
    'max memory restart': '300.0mb, now 250.0mb with its children',
    'last trigger': `${clockTime(NOW, NOW)} watch: a.js changed; it failed: it does not parse`,
  });
  expect(
    rows({ cronRestart: '0 0 1 1 *', maxMemoryBytes: 300 * MB }, { memory: { bytes: 310 * MB, misses: 4 } }),
  ).toMatchObject({
    'cron restart': '0 0 1 1 *, never again',
    'max memory restart': expect.stringContaining(
      'above the limit right after the start, 4 times in a row: set a higher limit',
    ),
  });
});

test('jlist has the triggers under the names of PM2', () => {
  const fields = {
    watch: ['src'],
    ignoreWatch: ['tmp'],
    watchDelayMs: 500,
    cronRestart: '@daily',
    maxMemoryBytes: 300 * MB,
    autostart: false,
  };
  const listed = (more, status) =>
    toPm2(slotStatus({ spec: spec(more), pidFile: '/h/pids/api-0.pid', ...status })).pm2_env;
  expect(listed(fields, { watching: true })).toMatchObject({
    watch: ['src'],
    ignore_watch: ['tmp'],
    watch_delay: 500,
    cron_restart: '@daily',
    max_memory_restart: 300 * MB,
    autostart: false,
    pm_pid_path: '/h/pids/api-0.pid',
  });
  expect(listed({ watch: ['.'] }, { watching: true }).watch).toBe(true);
  expect(listed({ watch: ['.'], watchOff: true }, { watching: false }).watch).toBe(false);
});
