import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createRig, watch } from '../control-rig.js';
import { makeSpec } from '../make-spec.js';

const MB = 1024 ** 2;
const SECOND = 1_000;
let rig;
let watchers;
/** By pid. */
let usage;

beforeEach(async () => {
  rig = createRig();
  watchers = [];
  usage = new Map();
  rig.senses = {
    openWatcher: (o) => {
      watchers.push(o);
      return { replaced: async () => [], close: () => void watchers.splice(watchers.indexOf(o), 1) };
    },
    identify: async () => 'folder:1',
    readTrees: async (pids) => new Map(pids.map((pid) => [pid, { bytes: usage.get(pid) ?? 0, pids: [pid] }])),
    sharedBytes: () => null,
  };
  await rig.boot();
});

async function running(fields = {}) {
  watch(rig.start({ instances: 2, ...fields }));
  await rig.turn(5 * SECOND);
}

const change = (path = '/srv/src/a.js') => watchers.at(-1).onChange(path);
const detail = async () => (await rig.call('list', { detail: true })).slots;
const generations = async () => (await rig.list()).map(({ generation }) => generation);
const lastDeaths = async () => (await rig.list()).map(({ lastDeath }) => lastDeath && [lastDeath.cause, lastDeath.by]);
const triggered = () => rig.events.filter(({ event }) => event === 'triggered').map(({ by }) => by);

describe('watch', () => {
  test('watch replaces all instances of the app after a change, guarded, and the deaths have the reason', async () => {
    await running({ watch: ['.'] });
    change();
    await rig.turn(10 * SECOND);
    expect(await generations()).toEqual([2, 2]);
    expect(await lastDeaths()).toEqual([
      ['reload', 'watch: src/a.js changed'],
      ['reload', 'watch: src/a.js changed'],
    ]);
    expect((await detail())[0]).toMatchObject({
      watching: true,
      triggers: { last: { by: 'watch: src/a.js changed', problem: null } },
    });
    expect(rig.keeper.alive).toHaveLength(2);
  });

  test('a thousand changes cause one reload, and changes during it one more', async () => {
    await running({ watch: ['.'] });
    for (let n = 0; n < 1_000; n++) change();
    await rig.turn(1_000);
    for (let n = 0; n < 1_000; n++) change('/srv/b.js');
    await rig.turn(20 * SECOND);
    expect(triggered()).toEqual(['watch: src/a.js changed, and 999 more', 'watch: b.js changed, and 999 more']);
    expect(await generations()).toEqual([3, 3]);
  });

  test('watch does not admit code that cannot start: old instances serve, and the next change is tried', async () => {
    await running({ watch: ['.'] });
    rig.keeper.behave = () => ({ exitsAfterMs: 50, code: 1 });
    change();
    await rig.turn(5 * SECOND);
    expect(await generations()).toEqual([1, 1]);
    expect((await detail())[0].triggers.last.problem).toMatch(/Reload of "api" stopped/);
    expect((await rig.call('list', {})).notices).toEqual([
      expect.stringMatching(/^Reload of "api" stopped: .* \(watch: src\/a\.js changed\)$/),
    ]);
    rig.keeper.behave = () => ({ listensAfterMs: 10 });
    change();
    await rig.turn(10 * SECOND);
    expect((await generations()).every((generation) => generation > 1)).toBe(true);
    expect((await rig.call('list', {})).notices).toEqual([]);
  });

  test('watch reports a reload that stopped halfway, until a restart or a stop', async () => {
    await running({ watch: ['.'], instances: 4 });
    rig.keeper.behave = ({ label }) => (label.slot > 1 ? { exitsAfterMs: 50, code: 1 } : { listensAfterMs: 10 });
    change();
    await rig.turn(20 * SECOND);
    expect((await generations()).sort()).toEqual([1, 1, 2, 2]);
    const notices = async () => (await rig.call('list', {})).notices;
    expect(await notices()).toEqual([expect.stringMatching(/^Reload of "api" stopped: .* \(watch: /)]);
    void rig.call('stop', { targets: ['api'] });
    await rig.turn(5 * SECOND);
    expect(await notices()).toEqual([]);
    rig.keeper.behave = () => ({ listensAfterMs: 10 });
    void rig.call('start', { targets: ['api'] });
    await rig.turn(5 * SECOND);
    expect([await notices(), (await rig.list()).map(({ status }) => status)]).toEqual([[], Array(4).fill('online')]);
  });

  test('watch reports paths that it cannot watch for their app, and other apps are not affected', async () => {
    await running({ watch: ['.'] });
    const open = rig.senses.openWatcher;
    rig.senses.openWatcher = (o) => {
      if (o.roots[0] === '/srv/bad') throw new Error('no such thing');
      return open(o);
    };
    await rig.boot();
    watch(rig.start({ name: 'bad', watch: ['bad'], cwd: '/srv' }));
    await rig.turn(5 * SECOND);
    const [api, , bad] = await detail();
    expect([api.status, api.triggers.watch.problem, bad.status, bad.triggers.watch]).toEqual([
      'online',
      null,
      'online',
      { paths: ['/srv/bad'], isReady: false, problem: 'no such thing' },
    ]);
    expect((await rig.call('list', {})).notices).toEqual(['The watch of "bad" is incomplete: no such thing']);
  });

  test('watch refuses an invalid pattern before anything is changed', async () => {
    for (const fields of [{ watch: ['*'.repeat(5_000)] }, { watch: ['.'], ignoreWatch: ['a'.repeat(5_000)] }]) {
      await expect(rig.call('start', { specs: [{ ...makeSpec({ name: 'long' }), ...fields }] })).rejects.toMatchObject({
        code: 'ERR_NCLUST_BAD_SPEC',
        data: { keyPath: expect.stringMatching(/watch/i) },
      });
    }
    expect(await rig.list()).toEqual([]);
  });

  test('watch starts a failed app after a change', async () => {
    rig.keeper.behave = () => ({ exitsAfterMs: 5, code: 1 });
    await running({ watch: ['.'], instances: 1, maxRestarts: 1 });
    expect(await rig.list()).toMatchObject([{ status: 'errored' }]);
    rig.keeper.behave = () => ({ listensAfterMs: 10 });
    change();
    await rig.turn(5 * SECOND);
    expect(await rig.list()).toMatchObject([{ status: 'online' }]);
  });

  test('watch replaces only slots that are up', async () => {
    await running({ watch: ['.'] });
    void rig.call('stop', { targets: ['1'] });
    await rig.turn(SECOND);
    change();
    await rig.turn(10 * SECOND);
    expect(await rig.list()).toMatchObject([{ status: 'online', generation: 2 }, { status: 'stopped' }]);
  });

  test('watch is paused by stop, resumed by start, and ended by delete', async () => {
    await running({ watch: ['.'] });
    const seen = [];
    for (const method of ['stop', 'start', 'delete']) {
      void rig.call(method, { targets: ['api'] });
      await rig.turn(5 * SECOND);
      seen.push([method, watchers.length, ...(await rig.list()).map(({ watching }) => watching)]);
    }
    expect(seen).toEqual([
      ['stop', 0, false, false],
      ['start', 1, true, true],
      ['delete', 0],
    ]);
  });

  test('watch is turned off by stop --watch, for the next start too, and switched by restart --watch', async () => {
    await running({ watch: ['src'] });
    const seen = [];
    for (const [method, more] of [
      ['stop', { watch: true }],
      ['start', {}],
      ['restart', { watch: true }],
      ['restart', { watch: true }],
      ['restart', {}],
    ]) {
      void rig.call(method, { targets: ['api'], ...more });
      await rig.turn(5 * SECOND);
      seen.push(watchers.map(({ roots }) => roots));
    }
    expect(seen).toEqual([[], [], [[['/srv/src']]][0], [], []]);
  });

  test('watch covers the working directory if restart --watch turns it on without paths', async () => {
    await running();
    void rig.call('restart', { targets: ['api'], watch: true });
    await rig.turn(5 * SECOND);
    expect(watchers.map(({ roots }) => roots)).toEqual([['/srv']]);
  });

  test('watch is started by a reload that sets it', async () => {
    await running({ watch: ['src'], watchOff: true });
    expect(watchers).toEqual([]);
    void rig.call('reload', { targets: ['api'], spec: { watch: ['lib'] } });
    await rig.turn(10 * SECOND);
    expect(watchers.map(({ roots }) => roots)).toEqual([['/srv/lib']]);
  });

  test('watch ignores the files that an app writes to', async () => {
    await running({ watch: ['.'], outFile: 'out.log', pidFile: 'api.pid' });
    const { isIgnored } = watchers[0];
    expect(['out-0.log', 'out-1.log', 'api-0.pid', 'api.js'].map((file) => isIgnored(`/srv/${file}`))).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  test('watch ends with the manager', async () => {
    await running({ watch: ['.'], cronRestart: '* * * * * *', maxMemoryBytes: 10 * MB });
    void rig.control.end('kill');
    await rig.turn(20 * SECOND);
    expect([watchers, triggered().length, rig.left]).toEqual([[], 5, 0]);
  });

  test('watch waits for a reload by command that is in progress', async () => {
    await running({ watch: ['.'], instances: 4 });
    const command = watch(rig.call('reload', { targets: ['api'] }));
    await rig.turn(200);
    change();
    await rig.turn(700);
    expect([rig.control.registry.desired.apps[0].generation, triggered().length]).toEqual([2, 1]);
    await rig.turn(20 * SECOND);
    expect([command.state, await generations()]).toEqual(['done', [3, 3, 3, 3]]);
  });
});

describe('cron', () => {
  test('cron replaces at its times, and reports the next one', async () => {
    await running({ cronRestart: '* * * * *' });
    await rig.turn(60 * SECOND);
    expect([await generations(), await lastDeaths()]).toEqual([
      [2, 2],
      [
        ['reload', 'cron: * * * * *'],
        ['reload', 'cron: * * * * *'],
      ],
    ]);
    const [{ triggers }] = await detail();
    expect(new Date(triggers.nextRunMs).toISOString()).toBe('2023-11-14T22:15:00.000Z');
  });

  test('cron waits for a reload that takes longer than its interval', async () => {
    await running({ cronRestart: '* * * * * *', instances: 4 });
    await rig.turn(20 * SECOND);
    expect(rig.keeper.alive.length).toBeLessThanOrEqual(5);
    expect(triggered().length).toBeLessThan(25);
    expect(triggered().length).toBeGreaterThan(5);
  });

  test('cron does not start a stopped app', async () => {
    await running({ cronRestart: '* * * * *' });
    void rig.call('stop', { targets: ['api'] });
    await rig.turn(300 * SECOND);
    expect(rig.keeper.alive).toEqual([]);
    expect((await detail())[0].triggers.nextRunMs).toBeNull();
  });

  test.each([0, 3])('cron restarts a job that has exited with code %d, by the next control too', async (code) => {
    rig.keeper.behave = () => ({ exitsAfterMs: 2_000, code });
    await running({ cronRestart: '* * * * *', autorestart: false, instances: 1, kind: 'exec', mode: 'fork' });
    expect(await rig.list()).toMatchObject([{ status: 'stopped' }]);
    await rig.turn(61 * SECOND);
    expect([rig.spawned().length, rig.keeper.alive.length]).toEqual([2, 0]);
    await rig.boot();
    await rig.turn(60 * SECOND);
    expect(rig.spawned()).toHaveLength(3);
    void rig.call('stop', { targets: ['api'] });
    await rig.turn(120 * SECOND);
    expect(rig.spawned()).toHaveLength(3);
  });

  test('cron runs a job again that was waiting for its next run when its list was saved', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'nclust-dump-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    Object.assign(rig.context.paths, { dump: join(folder, 'dump.json'), reserve: join(folder, 'reserve') });
    rig.keeper.behave = () => ({ exitsAfterMs: 2_000, code: 0 });
    await running({ cronRestart: '* * * * *', autorestart: false, instances: 1, kind: 'exec', mode: 'fork' });
    for (const [method, params] of [
      ['save', {}],
      ['delete', { targets: ['api'] }],
      ['resurrect', {}],
    ]) {
      watch(rig.call(method, params));
      await rig.turn(SECOND);
    }
    expect([rig.spawned().length, (await rig.list())[0].status]).toEqual([1, 'stopped']);
    await rig.turn(60 * SECOND);
    expect(rig.spawned()).toHaveLength(2);
  });

  test.each([
    [{ autorestart: false }, 1],
    [{ autorestart: true }, 0],
  ])('cron runs an imported app that PM2 shows as stopped, with %j: %d times', async (fields, runs) => {
    rig.keeper.behave = () => ({ exitsAfterMs: 2_000, code: 0 });
    const spec = makeSpec({ cronRestart: '* * * * *', instances: 1, kind: 'exec', mode: 'fork', ...fields });
    watch(rig.call('import', { apps: [{ spec, resting: [0] }] }));
    await rig.turn(SECOND);
    expect([rig.spawned().length, (await rig.list())[0].status]).toEqual([0, 'stopped']);
    await rig.turn(61 * SECOND);
    expect(rig.spawned()).toHaveLength(runs);
  });

  test('cron refuses a pattern that croner does not know, from any client', async () => {
    await expect(rig.start({ cronRestart: '99 * * * *' })).rejects.toMatchObject({
      code: 'ERR_NCLUST_BAD_SPEC',
      message: expect.stringContaining('minute'),
    });
  });
});

describe('max_memory_restart', () => {
  test('max_memory_restart replaces the one instance above the limit, and reports by how much', async () => {
    await running({ maxMemoryBytes: 300 * MB, instances: 3 });
    usage.set(1001, 312 * MB);
    await rig.turn(5 * SECOND);
    expect(await generations()).toEqual([1, 2, 1]);
    expect((await lastDeaths())[1]).toEqual(['reload', 'memory: 312 MB above 300 MB']);
    expect((await detail())[0].triggers.memory).toEqual({ bytes: 0, misses: 0 });
  });

  test('max_memory_restart replaces several instances one after the other', async () => {
    await running({ maxMemoryBytes: 300 * MB, instances: 3 });
    for (const pid of [1000, 1001, 1002]) usage.set(pid, 312 * MB);
    await rig.turn(20 * SECOND);
    expect([triggered().length, rig.keeper.alive.map(({ pid }) => pid)]).toEqual([3, [1003, 1004, 1005]]);
  });

  test('max_memory_restart can be set and removed while the app runs', async () => {
    await running();
    usage.set(1000, 312 * MB);
    void rig.call('reload', { targets: ['api'], spec: { maxMemoryBytes: 300 * MB } });
    await rig.turn(5 * SECOND);
    usage.set(1002, 400 * MB);
    await rig.turn(5 * SECOND);
    expect(triggered()).toEqual(['memory: 400 MB above 300 MB']);
  });
});

describe('autostart: false', () => {
  test('autostart: false adds the app as stopped; start starts it', async () => {
    const request = watch(rig.start({ autostart: false, instances: 2 }));
    await rig.turn(SECOND);
    expect(request.result.slots).toMatchObject([{ status: 'stopped' }, { status: 'stopped' }]);
    expect(rig.spawned()).toEqual([]);
    void rig.call('start', { targets: ['api'] });
    await rig.turn(SECOND);
    expect(rig.keeper.alive).toHaveLength(2);
  });

  test('autostart: false changes nothing for an app that is in the list', async () => {
    void rig.start({ autostart: false });
    await rig.turn(SECOND);
    void rig.start({ autostart: false });
    await rig.turn(SECOND);
    expect(rig.keeper.alive).toHaveLength(1);
  });
});
