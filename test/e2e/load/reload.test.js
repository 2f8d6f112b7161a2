import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openInstallation } from '../../helpers/installation.js';
import { isRoot, NOBODY } from '../../helpers/other-user.js';
import { EVERY_REQUEST, loseNothing, reload, serve, untilNothingIsLeftOver } from '../../helpers/reloads.js';
import { sandbox } from '../../helpers/sandbox.js';
import { tlsEnv } from '../../helpers/traffic/target.js';
import { pause } from '../../helpers/wait-for.js';

// The app has no code for reloads. test/e2e/long/load has more variants, and test/e2e/soak has
// longer tests.
const QUICK = ['--min-uptime', '100'];
/** Pauses of a client. They are long enough to see the end of a connection on a busy machine. */
const THINKING = { leastPauseMs: 30, pauseMs: 15 };

async function repeat(times, act) {
  for (let n = 0; n < times; n += 1) await act();
}

describe('a reload loses no request', () => {
  test('3 reloads of 4 workers in cluster mode lose no request', async () => {
    const home = await sandbox();
    const app = await serve(home, 'serves-all', { instances: 4, flags: QUICK });
    await loseNothing(app, EVERY_REQUEST, () => repeat(3, () => reload(home, app)));
    await untilNothingIsLeftOver(home);
  });

  test('2 reloads of the only process in fork mode lose no request', async () => {
    const home = await sandbox();
    const app = await serve(home, 'serves-all', { flags: QUICK });
    await loseNothing(app, EVERY_REQUEST, () => repeat(2, () => reload(home, app)));
    await untilNothingIsLeftOver(home);
  });

  test.runIf(isRoot).each([
    ['cluster', { instances: 3 }],
    ['fork', {}],
  ])('2 reloads in %s mode with another user lose no request', async (_mode, o) => {
    const home = await sandbox({ bin: openInstallation() });
    chmodSync(join(home.work, '..'), 0o755);
    const flags = [...QUICK, '--uid', String(NOBODY.uid), '--gid', String(NOBODY.gid)];
    const app = await serve(home, 'serves-all', { ...o, flags });
    await loseNothing(app, EVERY_REQUEST, () => repeat(2, () => reload(home, app)));
    await untilNothingIsLeftOver(home);
  });

  test.each([
    ['TLS', 'https', EVERY_REQUEST],
    ['HTTP/2 with TLS', 'h2', { http2: 2, 'keep-alive': 1, 'one-shot': 1 }],
  ])('2 reloads of 2 workers over %s lose no request', async (_, PROTOCOL, clients) => {
    const home = await sandbox();
    const app = await serve(home, 'serves-all', { instances: 2, flags: QUICK, env: { ...tlsEnv, PROTOCOL } });
    await loseNothing({ url: app.url.replace('http:', 'https:') }, clients, () => repeat(2, () => reload(home, app)));
  });

  test('two overlapping reloads both succeed and leave one generation', async () => {
    const home = await sandbox();
    const app = await serve(home, 'serves-all', { instances: 3, flags: QUICK });
    const before = await app.pids();
    await loseNothing(app, { 'one-shot': 2, 'keep-alive': 2, slow: 2 }, async (traffic) => {
      const first = home.nclust('reload', app.name);
      await home.waitFor('the first reload to replace a worker', () =>
        [...traffic.ledger.byPid.keys()].some((pid) => !before.includes(pid)),
      );
      const both = await Promise.all([first, home.nclust('reload', app.name)]);
      expect(both).toMatchObject([{ exitStatus: 0 }, { exitStatus: 0 }]);
    });
    expect(new Set((await app.instances()).map(({ generation }) => generation)).size).toBe(1);
    await untilNothingIsLeftOver(home);
  });
});

test.each([
  ['cluster mode', 2],
  ['fork mode', undefined],
])('plain TCP in %s: 3 reloads reset no connection of 20 clients and lose no line', async (_, instances) => {
  const home = await sandbox();
  const app = await serve(home, 'answers-lines', { instances, flags: QUICK });
  await loseNothing(app, { line: 20 }, () => repeat(3, () => reload(home, app)), THINKING);
  await untilNothingIsLeftOver(home);
});

describe('a reload closes WebSocket connections cleanly', () => {
  test.each([
    ['nclust, if the app does not close it', {}, [], 'closed with 1001'],
    ['the app, on its stop signal', { CLOSES_WEBSOCKETS: '1' }, [], 'closed with 1001 on SIGTERM'],
    [
      'the app, on the shutdown message',
      { CLOSES_WEBSOCKETS: '1' },
      ['--shutdown-with-message'],
      'closed with 1001 on shutdown',
    ],
  ])('the close frame is sent by %s', async (_, env, flags, close) => {
    const home = await sandbox();
    const app = await serve(home, 'serves-all', { instances: 2, flags: [...QUICK, ...flags], env });
    const ledger = await loseNothing(app, { websocket: 4, 'one-shot': 1 }, async (traffic) => {
      const sessions = () => [...traffic.ledger.byPid.values()].reduce((sum, count) => sum + count, 0);
      await home.waitFor('some WebSocket sessions', () => sessions() > 20);
      await reload(home, app);
    });
    expect(Object.fromEntries(ledger.notes)).toEqual({ [`websocket: ${close} by the server`]: expect.any(Number) });
    expect(ledger.notes.get(`websocket: ${close} by the server`)).toBeGreaterThanOrEqual(4);
  });
});

test('scaling 1 -> 8 -> 2 loses no request', async () => {
  const home = await sandbox();
  const app = await serve(home, 'serves-all', { instances: 1, flags: QUICK });
  await loseNothing(app, EVERY_REQUEST, async ({ ledger }) => {
    for (const instances of [8, 2]) {
      const before = ledger.kinds.get('slow')?.requests ?? 0;
      await home.waitFor(
        'slow requests between the scalings',
        () => (ledger.kinds.get('slow')?.requests ?? 0) > before + 2,
      );
      expect(await home.nclust('scale', app.name, String(instances))).toMatchObject({ exitStatus: 0 });
      expect(await app.pids()).toHaveLength(instances);
    }
  });
  await untilNothingIsLeftOver(home);
});

test('a reload survives SIGKILL of control: it succeeds, replaces every worker and loses no request', async () => {
  const home = await sandbox();
  const app = await serve(home, 'serves-all', { instances: 3, flags: ['--min-uptime', '300'] });
  await loseNothing(app, { 'one-shot': 2, 'keep-alive': 2, slow: 1 }, async () => {
    for (const afterMs of [0, 150, 500, 1_000]) {
      const { controlPid } = await home.waitFor('control', () => home.daemon());
      const before = await app.pids();
      const command = home.nclust('reload', app.name);
      await pause(afterMs);
      process.kill(controlPid, 'SIGKILL');
      expect(await command, `killed after ${afterMs} ms`).toMatchObject({ exitStatus: 0 });
      // Waits, because control restarts at most once a second.
      const after = await home.waitFor('all workers to be new', async () => {
        const slots = await app.instances();
        return slots.every(({ isReady, pid }) => isReady && !before.includes(pid)) && slots;
      });
      expect(new Set(after.map(({ generation }) => generation)).size).toBe(1);
      await untilNothingIsLeftOver(home);
    }
  });
});
