import { expect, test } from 'vitest';
import { describeDeath } from '../../../../lib/render/death.js';
import { describeData, renderDescribe } from '../../../../lib/render/describe.js';
import { createPaint } from '../../../../lib/render/paint.js';
import { checkSpec } from '../../../../lib/app-spec/check.js';
import { death, slotStatus, trouble } from '../slots.js';
import { pattern } from '../../../helpers/pattern.js';

const view = { columns: null, paint: createPaint(0), nowMs: 1_065_000, options: {} };

const rowsOf = (text) =>
  Object.fromEntries([...text.matchAll(/^│ (.+?) +│ (.*?) +│$/gm)].map(([, key, value]) => [key, value]));

test('describe shows the program, its state and its policies', () => {
  const spec = checkSpec({ name: 'api', kind: 'node', file: '/usr/bin/node', script: '/srv/app.js', cwd: '/srv' });
  const text = renderDescribe(
    {
      slots: [
        slotStatus({
          spec,
          effectiveEnv: { NODE_ENV: 'production' },
          addresses: [
            { address: '::', port: 80, family: 'IPv6' },
            { address: '0.0.0.0', port: 81, family: 'IPv4' },
          ],
          args: ['a', 'b'],
        }),
      ],
    },
    view,
  );
  expect(rowsOf(text)).toMatchObject({
    status: 'online',
    name: 'api',
    namespace: 'default',
    version: '1.2.3',
    pid: '4711',
    restarts: '0',
    uptime: '1m',
    'listening on': '[::]:80, 0.0.0.0:81',
    'script path': '/srv/app.js',
    'script args': 'a b',
    interpreter: '/usr/bin/node',
    'exec cwd': '/srv',
    'exec mode': 'fork_mode',
    'node.js version': '20.11.0',
    'node env': 'production',
    'out log path': '/l/api-out.log',
    'error log path': '/l/api-error.log',
    autorestart: 'yes, up to 16 unstable exits in 10m',
    'restart delay': 'back-off from 100ms',
    'kill timeout': '10s',
  });
  expect(text).not.toMatch(/deaths/);
});

test('describe shows the log settings that were set', () => {
  const plain = { name: 'api', kind: 'node', file: '/usr/bin/node', script: '/srv/app.js', cwd: '/srv' };
  expect(
    Object.keys(rowsOf(renderDescribe({ slots: [slotStatus({ spec: checkSpec(plain) })] }, view))).filter((title) =>
      /log/.test(title),
    ),
  ).toEqual(['out log path', 'error log path']);
  const spec = checkSpec({
    ...plain,
    logType: 'json',
    logDateFormat: 'HH:mm',
    disableLogs: true,
    logMaxSizeBytes: 52_428_800,
    logInterval: 'daily',
    logMaxFiles: 0,
    logMaxAgeMs: 0,
    logMaxTotalBytes: 1024 ** 3,
    logCompress: 'none',
    logOverflow: 'drop',
    logRateLimitBytes: 1024 ** 2,
    logShip: ['exec:cat'],
  });
  const shipping = [{ target: 'exec:cat', sent: 12, dropped: 3, problem: 'the command exited with code 1' }];
  const rows = rowsOf(renderDescribe({ slots: [slotStatus({ spec, shipping, logFile: '/l/api.log' })] }, view));
  expect(rows).toMatchObject({
    'entire log path': '/l/api.log',
    'disable logs': expect.stringContaining('yes'),
    'log type': 'json, a record per line',
    'log date format': 'HH:mm',
    'log max size': '50.0mb',
    'log interval': 'daily',
    'log max files': '0',
    'log max age': 'none',
    'log max total': '1.0gb',
    'log compress': 'none',
    'log overflow': expect.stringContaining('drop'),
    'log rate limit': '1.0mb a second for each instance',
    'logs go to': 'exec:cat (12 lines sent, 3 lost; the command exited with code 1)',
  });
});

test('describe shows the last deaths, newest first, with the last lines of the newest', () => {
  const text = renderDescribe(
    {
      slots: [
        slotStatus({
          status: 'waiting restart',
          waitingFor: 'the next try in 1.6s',
          deaths: [
            death({ pid: 1, cause: 'restart', by: 'nclust restart', wasReady: true, code: 0 }),
            death({
              pid: 2,
              words: 'Error: no database',
              frame: 'open (db.js:7)',
              lastLines: ['Error: no database', 'at \u001b[2J'],
            }),
          ],
        }),
      ],
    },
    view,
  );
  expect(rowsOf(text)).toMatchObject({ 'waiting for': 'the next try in 1.6s' });
  expect(text).toMatch(
    pattern(
      /pid 2 .*exited with code 1 after 350ms, before it was up, "Error: no database" in open \(db.js:7\)\n/,
      /.*pid 1 .*restarted by nclust restart\n/,
    ),
  );
  expect(text).toContain('  Error: no database\n  at ?[2J');
});

test.each([
  [
    { code: 0, cause: 'crash', wasReady: true, uptimeMs: 90_000 },
    'exited with code 0 after 1m 30s (it had nothing left to do, or exited without an error)',
  ],
  [{ code: null, signal: 'SIGKILL', cause: 'out-of-memory', wasReady: true }, 'ran out of memory after 350ms'],
  [{ code: null, signal: 'SIGKILL', cause: 'boot-timeout' }, 'was not ready in time'],
  [
    { code: 0, cause: 'stop', by: 'nclust stop api', wasReady: true },
    'exited with code 0 after 350ms: stopped by nclust stop api',
  ],
  [{ code: 0, cause: 'reload', by: 'reload', wasReady: true }, 'exited with code 0 after 350ms: replaced by a reload'],
  [{ code: 0, cause: 'stop', by: 'kill', wasReady: true }, 'exited with code 0 after 350ms: stopped by kill'],
  [
    { code: null, signal: null, cause: 'orphan', wasReady: true },
    'ended after 350ms: left over from a manager that died, and replaced',
  ],
  [{ code: null, cause: 'spawn-failed', words: 'ENOENT' }, 'could not be started: ENOENT'],
])('the death %j is described in one line', (changes, text) => {
  expect(describeDeath(death(changes), { autorestart: true })).toBe(text);
});

test('the description begins with the state, the last death, and what the app waits for', () => {
  const summary = (changes) =>
    renderDescribe({ slots: [slotStatus({ startedAtMs: view.nowMs - 3 * 3_600_000, ...changes })] }, view).split(
      '┌',
    )[0];
  expect(
    summary({
      addresses: [
        { address: '::', port: 80, family: 'IPv6' },
        { address: '0.0.0.0', port: 80, family: 'IPv4' },
      ],
      restarts: 1,
    }),
  ).toBe(
    'Process 0: api\n  online for 3h: instance 0 of /srv/app.js in fork mode, listening on port 80; 1 ' +
      'restart.\n  It has not exited since it was added to the list.\n',
  );
  expect(
    summary({
      addresses: [
        { address: '::', port: 80, family: 'IPv6' },
        { address: '/run/api\u001b.sock', port: 0, family: 'pipe' },
        { address: '::', port: 443, family: 'IPv6' },
      ],
    }),
  ).toMatch(/, listening on ports 80, 443 and \/run\/api[^\u001b]*\.sock; /);
  const crash = death({ atMs: view.nowMs - 60_000 });
  const text = summary({
    status: 'waiting restart',
    pid: 0,
    waitingFor: 'the next attempt in 3s',
    deaths: [crash, crash],
    lastDeath: crash,
  });
  expect(text).toMatch(
    pattern(
      /waiting restart: .*\n/,
      / {2}It waits for the next attempt in 3s\.\n/,
      / {2}It last died at .*, 1m ago: exited with code 1 after 350ms, before it was up\.\n/,
    ),
  );
  expect(summary({ lastDeath: death({ cause: 'reload', by: 'reload' }) })).toContain('It last exited at');
});

test('describe begins with the troubles of the process, and its JSON has them with their words', () => {
  const slots = [slotStatus({ troubles: ['crash-loop'] }), slotStatus({ id: 1, slot: 1, pid: 4712 })];
  const troubles = [trouble()];
  const [first, second] = renderDescribe({ slots, troubles }, view).split('Process 1');
  expect(first).toMatch(
    pattern(
      /^Process 0: api\n {2}bad {2}api {2}crashed 3 times within 1m; the last time it exited with code 1 /,
      /after 350ms, "Error: no database", since .* \(1m\)\n/,
      / +nclust logs api --err\n {2}crashing: instance 0 of /,
    ),
  );
  expect(rowsOf(first).status).toBe('crashing');
  expect(second).not.toContain('crash');
  expect(describeData({ slots, troubles })).toMatchObject([
    { status: 'online', troubles: [{ kind: 'crash-loop', next: 'nclust logs api --err' }] },
    { status: 'online', troubles: [] },
  ]);
});

test('describe does not show the errors of a deleted app with the same log file', () => {
  const entry = (atMs, line) => ({ id: 0, name: 'api', stream: 'err', line, atMs });
  const slot = slotStatus({ createdAtMs: 2_000 });
  const text = renderDescribe({ slots: [slot], errors: { 0: [entry(1_999, 'old'), entry(2_001, 'new')] } }, view);
  expect(text).toMatch(/Last lines of its error log\n.* {2}new\n/);
  expect(text).not.toContain('old\n');
});

test('describe does not show a finished job as broken', () => {
  const finished = death({ atMs: view.nowMs - 1_000, code: 0, uptimeMs: 592 });
  const of = (deaths) =>
    renderDescribe({ slots: [slotStatus({ status: 'stopped', pid: 0, autorestart: false, deaths })] }, view);
  const text = of([finished, finished]);
  expect(text).toMatch(/\n {2}It last finished at .*, 1s ago, with code 0 after 592ms\.\n/);
  expect(text).toMatch(/Last deaths, newest first\n.* {2}finished with code 0 after 592ms\n/);
  expect(of([death({ ...finished, code: 1 })])).toMatch(/It last died at .*: exited with code 1 after 592ms/);
});

test('describe shows the errors since the last death, and the errors of the death only once', () => {
  const entry = (atMs, line) => ({
    id: 0,
    name: 'api',
    stream: 'err',
    line,
    atMs,
  });
  const slot = slotStatus({ lastDeath: death({ atMs: 1_000 }) });
  const text = renderDescribe(
    { slots: [slot], errors: { 0: [entry(999, 'old'), entry(1_001, 'slow \u001b[2Jquery'), entry(null, 'undated')] } },
    view,
  );
  expect(text).toMatch(/Last lines of its error log\n.* {2}slow query\n {2}- {2}undated\n/);
  expect(text).not.toContain('old\n');
});
