import { getEventListeners } from 'node:events';
import { beforeEach, describe, expect, test } from 'vitest';
import { asOrphans, createRig, watch } from './control-rig.js';

let rig;

beforeEach(async () => {
  rig = createRig();
  await rig.boot();
});

const statusOf = async () => (await rig.list()).map(({ status }) => status);

describe('start', () => {
  test('start answers when every instance listens, and not before', async () => {
    const request = watch(rig.start({ instances: 2 }));
    await rig.turn(9);
    expect(request.state).toBe('pending');
    await rig.turn(1);
    expect(request.result).toMatchObject({
      outcomes: [{ name: 'api', outcome: 'started' }],
      slots: [
        { id: 0, status: 'online', pid: 1000 },
        { id: 1, status: 'online', pid: 1001 },
      ],
    });
  });

  test('start writes the desired state before it requests the first process', async () => {
    let savesAtSpawn = 0;
    rig.keeper.behave = () => ((savesAtSpawn = rig.store.saves), {});
    void rig.start({}).catch(() => {});
    await rig.turn(0);
    expect(savesAtSpawn).toBe(1);
  });

  test('start is refused, and changes nothing, if the state cannot be written', async () => {
    rig.store.isFull = true;
    await expect(rig.start({})).rejects.toMatchObject({ code: 'ERR_NCLUST_STATE_WRITE' });
    rig.store.isFull = false;
    expect(await rig.list()).toEqual([]);
    expect(rig.keeper.alive).toEqual([]);
  });

  test('start counts a program that does not listen as up when it has lived for minUptime', async () => {
    rig.keeper.behave = () => ({});
    const request = watch(rig.start({ minUptimeMs: 500 }));
    await rig.turn(499);
    expect(request.state).toBe('pending');
    await rig.turn(1);
    expect(request.state).toBe('done');
  });

  test('start with waitReady waits for the message and for nothing else', async () => {
    rig.keeper.behave = () => ({ listensAfterMs: 5, readyAfterMs: 3_000 });
    const request = watch(rig.start({ waitReady: true }));
    await rig.turn(2_999);
    expect(request.state).toBe('pending');
    await rig.turn(1);
    expect(request.state).toBe('done');
  });

  test('start fails at the first crash of the app, with the last lines; the app stays under its policy', async () => {
    rig.lastLines = ['boom'];
    rig.keeper.behave = () => ({ exitsAfterMs: 400, code: 3 });
    const request = watch(rig.start({}));
    await rig.turn(400);
    expect(request.error).toMatchObject({
      code: 'ERR_NCLUST_NOT_UP',
      exitStatus: 1,
      hint: expect.stringMatching(/"api" stays in the list and is retried\. To remove it: nclust delete api$/),
      data: { slots: [{ id: 0, name: 'api', slot: 0, reason: 'exited with code 3 after 400ms', lastLines: ['boom'] }] },
    });
    expect(await statusOf()).toEqual(['waiting restart']);
    rig.keeper.behave = () => ({ listensAfterMs: 5 });
    await rig.turn(200);
    expect(await rig.list()).toMatchObject([
      {
        status: 'online',
        restarts: 1,
        unstableRestarts: 1,
        lastDeath: { cause: 'crash', code: 3, wasReady: false, uptimeMs: 400 },
      },
    ]);
  });

  test('a start that fails and is not retried names only the command that removes the app', async () => {
    rig.keeper.behave = () => ({ exitsAfterMs: 400, code: 3 });
    const request = watch(rig.start({ autorestart: false }));
    await rig.turn(400);
    expect(request.error.hint).toMatch(/"api" stays in the list\. To remove it: nclust delete api$/);
  });

  test('start reports all known failures when it fails', async () => {
    rig.keeper.behave = () => ({ exitsAfterMs: 7, code: 1 });
    rig.keeper.behave = ({ label }) => (label.slot === 2 ? { listensAfterMs: 1 } : { refuses: 'ENOENT' });
    await expect(rig.start({ instances: 3 })).rejects.toMatchObject({
      data: { slots: [{ slot: 0, reason: expect.stringContaining('ENOENT') }] },
    });
  });

  test('start fails at the boot deadline; the process is retired and counts as unstable', async () => {
    rig.keeper.behave = () => ({});
    const request = watch(rig.start({ waitReady: true, listenTimeoutMs: 700 }));
    await rig.turn(710);
    expect(request.error.message).toContain('was not ready in 700ms');
    expect(await rig.list()).toMatchObject([
      { status: 'waiting restart', unstableRestarts: 1, lastDeath: { cause: 'boot-timeout' } },
    ]);
  });

  test('start succeeds if a program exits with code 0 under autorestart false', async () => {
    rig.keeper.behave = () => ({ exitsAfterMs: 20, code: 0 });
    const request = watch(rig.start({ autorestart: false }));
    await rig.turn(50);
    expect(request).toMatchObject({ state: 'done', result: { slots: [{ status: 'stopped', restarts: 0 }] } });
    await rig.boot();
    await rig.turn();
    expect(rig.spawned()).toHaveLength(1);
  });

  test('start fails if a program exits with another code under autorestart false', async () => {
    rig.keeper.behave = () => ({ exitsAfterMs: 20, code: 9 });
    const request = watch(rig.start({ autorestart: false }));
    await rig.turn(50);
    expect(request.error.message).toContain('exited with code 9');
  });

  test('start refuses a running app, adds instances when forced, and gives a stopped app the new spec', async () => {
    void rig.start({ env: { A: '1' } });
    await rig.turn();
    await expect(rig.start({})).rejects.toMatchObject({ code: 'ERR_NCLUST_APP_EXISTS' });
    void rig.start({ env: { A: '1' } }, { force: true });
    await rig.turn();
    expect(rig.running()).toEqual(['api/0', 'api/1']);
    void rig.call('stop', { targets: ['api'] });
    await rig.turn();
    void rig.start({ env: { A: '2' } });
    await rig.turn();
    expect(rig.keeper.alive.map((child) => child.env.A)).toEqual(['2']);
    expect(await rig.list()).toMatchObject([{ id: 0, status: 'online' }]);
  });

  test('start gives each instance the declared environment, its marker, and nothing else', async () => {
    void rig.start({ env: { A: '1' }, instanceVar: 'N' });
    await rig.turn(1);
    const [child] = rig.keeper.alive;
    expect(child.env).toEqual({
      A: '1',
      name: 'api',
      pm_id: '0',
      N: '0',
      NCLUST_HOME: '/home/nclust',
      PM2_HOME: '/home/nclust',
      NCLUST_INSTANCE: child.instanceId,
    });
  });
});

describe('a process that dies', () => {
  test('a process that dies is restarted at once if it was up for long enough', async () => {
    void rig.start({});
    await rig.turn(5_000);
    rig.keeper.exit(rig.keeper.alive[0].instanceId, { code: 1 });
    await rig.turn(0);
    expect(rig.keeper.alive).toHaveLength(1);
    await rig.turn(20);
    expect(await rig.list()).toMatchObject([{ status: 'online', restarts: 1, unstableRestarts: 0 }]);
  });

  test('a process that dies repeatedly is restarted after growing pauses, then counts as failed', async () => {
    rig.keeper.behave = () => ({ exitsAfterMs: 1, code: 1 });
    void rig.start({ maxRestarts: 5 }).catch(() => {});
    await rig.turn(60_000);
    expect(rig.spawned()).toHaveLength(6);
    expect(await rig.list()).toMatchObject([{ status: 'errored', restarts: 5, unstableRestarts: 6 }]);
    rig.keeper.behave = () => ({ listensAfterMs: 1 });
    void rig.call('start', { targets: ['api'] });
    await rig.turn(10);
    expect(await statusOf()).toEqual(['online']);
  });

  test.each([
    [{ signal: 'SIGKILL' }, { cause: 'signal' }],
    [{ signal: 'SIGSEGV' }, { cause: 'crash' }],
    [{ code: 0 }, { cause: 'crash', code: 0 }],
  ])('a death by %o has the cause %o', async (exit, death) => {
    void rig.start({});
    await rig.turn(2_000);
    rig.keeper.exit(rig.keeper.alive[0].instanceId, exit);
    await rig.turn(10);
    expect((await rig.list())[0].lastDeath).toMatchObject(death);
  });

  test('a death because the kernel ran out of memory is distinguished from a kill', async () => {
    void rig.start({});
    await rig.turn(2_000);
    rig.oomKilled = true;
    rig.keeper.exit(rig.keeper.alive[0].instanceId, { signal: 'SIGKILL' });
    await rig.turn(10);
    expect((await rig.list())[0].lastDeath).toMatchObject({ cause: 'out-of-memory' });
  });

  test('a death by a signal that a command sent has that command as its cause', async () => {
    void rig.start({});
    await rig.turn(2_000);
    await rig.call('signal', { targets: ['api'], signal: 'SIGUSR2' });
    await rig.turn(10);
    expect((await rig.list())[0].lastDeath).toMatchObject({
      cause: 'signal',
      signal: 'SIGUSR2',
      by: 'sendSignal SIGUSR2',
    });
  });

  test('deaths by a signal that a command sent are not unstable exits', async () => {
    void rig.start({ maxRestarts: 1 });
    await rig.turn(10);
    for (let times = 0; times < 5; times++) {
      await rig.call('signal', { targets: ['api'], signal: 'SIGUSR2' });
      await rig.turn(10);
    }
    expect(await rig.list()).toMatchObject([{ status: 'online', restarts: 5, unstableRestarts: 0 }]);
  });

  test('a dead process has its pipes read to the end before it is forgotten', async () => {
    void rig.start({});
    await rig.turn(2_000);
    const [{ instanceId }] = rig.keeper.alive;
    rig.keeper.exit(instanceId, { code: 1 });
    await rig.turn(10);
    expect(rig.drained).toContain(instanceId);
    expect(rig.detached).toContain(instanceId);
    expect(rig.keeper.children.has(instanceId)).toBe(false);
  });
});

describe('stop, delete, restart, scale', () => {
  test('stop answers when the last process of the tree has exited', async () => {
    rig.keeper.behave = () => ({ listensAfterMs: 1, stopsAfterMs: 300, goneAfterMs: 200 });
    void rig.start({ instances: 2 });
    await rig.turn();
    const request = watch(rig.call('stop', { targets: ['api'] }));
    await rig.turn(499);
    expect([request.state, await statusOf()]).toEqual(['pending', ['stopping', 'stopping']]);
    await rig.turn(1);
    expect(request.result.slots).toMatchObject([
      { status: 'stopped', lastDeath: { cause: 'stop', by: 'stop' } },
      { status: 'stopped' },
    ]);
    expect(rig.keeper.released.has('api')).toBe(true);
  });

  test.each(['stop', 'delete'])(
    '%s of an instance that is being created retires it as soon as it exists',
    async (method) => {
      rig.keeper.behave = () => ({ spawnsAfterMs: 100, listensAfterMs: 1 });
      void rig.start({}).catch(() => {});
      await rig.turn(50);
      const request = watch(rig.call(method, { targets: ['api'] }));
      await rig.turn(40);
      expect(request.state).toBe('pending');
      await rig.turn(30);
      expect([request.state, rig.keeper.alive.length, rig.keeper.children.size]).toEqual(['done', 0, 0]);
    },
  );

  test('stop during back-off is done at once, and no process starts afterwards', async () => {
    rig.keeper.behave = () => ({ exitsAfterMs: 1, code: 1 });
    void rig.start({}).catch(() => {});
    await rig.turn(50);
    const request = watch(rig.call('stop', { targets: ['0'] }));
    await rig.turn(0);
    expect(request.state).toBe('done');
    await rig.turn(60_000);
    expect(rig.spawned()).toHaveLength(1);
  });

  test('restart while starting ends the first attempt and starts the next', async () => {
    rig.keeper.behave = () => ({ readyAfterMs: 1_000 });
    const first = watch(rig.start({ waitReady: true }));
    await rig.turn(500);
    const second = watch(rig.call('restart', { targets: ['api'] }));
    await rig.turn(1_100);
    expect([first.state, second.state]).toEqual(['done', 'done']);
    expect(await rig.list()).toMatchObject([{ generation: 2, status: 'online', restarts: 1 }]);
  });

  test('delete while stopping answers when the process has exited, and list and keeper forget it', async () => {
    rig.keeper.behave = () => ({ listensAfterMs: 1, stopsAfterMs: 300 });
    void rig.start({});
    await rig.turn();
    const stop = watch(rig.call('stop', { targets: ['api'] }));
    await rig.turn(100);
    const remove = watch(rig.call('delete', { targets: ['api'] }));
    await rig.turn(1_000);
    expect([stop.state, remove.state]).toEqual(['done', 'done']);
    expect(remove.result.slots).toMatchObject([{ id: 0, name: 'api' }]);
    expect(await rig.list()).toEqual([]);
    expect([...rig.keeper.notes.keys()].filter((key) => key.startsWith('slot:'))).toEqual([]);
    expect(rig.keeper.children.size).toBe(0);
  });

  test('start right after stop waits for the old process, because it still has the sockets', async () => {
    rig.keeper.behave = () => ({ listensAfterMs: 1, stopsAfterMs: 300 });
    void rig.start({});
    await rig.turn();
    void rig.call('stop', { targets: ['api'], wait: false });
    const request = watch(rig.call('start', { targets: ['api'] }));
    await rig.turn(299);
    expect(rig.keeper.alive).toHaveLength(1);
    await rig.turn(10);
    expect(request.state).toBe('done');
  });

  test('restart keeps half of the instances serving and counts as one restart each', async () => {
    void rig.start({ instances: 4 });
    await rig.turn();
    let fewest = 4;
    rig.keeper.behave = () => (
      (fewest = Math.min(
        fewest,
        rig.keeper.alive.filter((child) => child.addresses.length > 0 && !child.isRetiring).length,
      )),
      { listensAfterMs: 10 }
    );
    const request = watch(rig.call('restart', { targets: ['api'] }));
    await rig.turn();
    expect(request.state).toBe('done');
    expect(fewest).toBe(2);
    expect((await rig.list()).map(({ restarts, generation }) => [restarts, generation])).toEqual([
      [1, 2],
      [1, 2],
      [1, 2],
      [1, 2],
    ]);
  });

  test('a restart with code that crashes stops half way and fails, and the other half keeps serving', async () => {
    void rig.start({ instances: 4 });
    await rig.turn();
    rig.keeper.behave = () => ({ exitsAfterMs: 10, code: 1 });
    const request = watch(rig.call('restart', { targets: ['api'] }));
    await rig.turn(30_000);
    expect(request.error).toMatchObject({ code: 'ERR_NCLUST_NOT_UP', hint: 'nclust logs api; nclust describe 0' });
    expect((await rig.list()).filter(({ status, generation }) => status === 'online' && generation === 1)).toHaveLength(
      2,
    );
  });

  test('restart of one id leaves the others alone', async () => {
    void rig.start({ instances: 3 });
    await rig.turn();
    void rig.call('restart', { targets: ['1'] });
    await rig.turn();
    expect((await rig.list()).map(({ restarts }) => restarts)).toEqual([0, 1, 0]);
  });

  test('restart applies a changed environment and changed settings', async () => {
    void rig.start({ env: { A: '1', B: '1' } });
    await rig.turn();
    void rig.call('restart', { targets: ['api'], env: { A: '2' }, spec: { args: ['x'], instances: 2 } });
    await rig.turn();
    expect(rig.keeper.alive.map((child) => [child.env.A, child.env.B])).toEqual([
      ['2', '1'],
      ['2', '1'],
    ]);
    expect((await rig.list()).map(({ args }) => args)).toEqual([['x'], ['x']]);
  });

  test.each([
    ['4', 4],
    ['+3', 5],
    ['-1', 1],
    ['max', 4],
    ['50%', 2],
  ])('scale to %s from 2 gives %i', async (instances, count) => {
    void rig.start({ instances: 2 });
    await rig.turn();
    const request = watch(rig.call('scale', { target: 'api', instances }));
    await rig.turn();
    expect(request.result.slots).toHaveLength(count);
    expect(rig.running()).toHaveLength(count);
  });

  test('scale down answers when the processes of the removed slots are gone', async () => {
    rig.keeper.behave = () => ({ listensAfterMs: 10, stopsAfterMs: 5_000 });
    void rig.start({ instances: 3 });
    await rig.turn();
    const request = watch(rig.call('scale', { target: 'api', instances: '1' }));
    await rig.turn(4_000);
    expect(request.state).toBe('pending');
    await rig.turn(2_000);
    expect(request.state).toBe('done');
    expect(rig.keeper.alive).toHaveLength(1);
  });

  test.each(['scale', 'start'])(
    '%s of an app that is deleted at the same time fails with the name of the app and instance',
    async (method) => {
      rig.keeper.behave = () => ({ listensAfterMs: 800 });
      const started = watch(rig.start({ instances: 2 }));
      if (method === 'scale') await rig.turn();
      const request = method === 'scale' ? watch(rig.call('scale', { target: 'api', instances: '3' })) : started;
      await rig.turn(100);
      void rig.call('delete', { targets: ['api'] });
      await rig.turn();
      const slot = method === 'scale' ? 2 : 0;
      expect(request.error).toMatchObject({
        code: 'ERR_NCLUST_NOT_UP',
        hint: 'nclust list',
        data: { slots: [{ name: 'api', slot, id: slot }, ...(method === 'scale' ? [] : [{ slot: 1 }])] },
      });
      expect(request.error.message).toContain(
        `The ${method} of "api" failed: instance ${slot} was deleted by another command`,
      );
    },
  );

  test('scale up and down during a restart ends with the last number', async () => {
    rig.keeper.behave = () => ({ listensAfterMs: 50, stopsAfterMs: 50 });
    void rig.start({ instances: 4 });
    await rig.turn();
    void rig.call('restart', { targets: ['api'] }).catch(() => {});
    await rig.turn(60);
    void rig.call('scale', { target: 'api', instances: '6' }).catch(() => {});
    await rig.turn(20);
    void rig.call('scale', { target: 'api', instances: '3' }).catch(() => {});
    await rig.turn(5_000);
    expect(rig.running()).toEqual(['api/0', 'api/1', 'api/2']);
    expect((await rig.list()).map(({ generation }) => generation)).toEqual([2, 2, 2]);
  });

  test('reset zeroes the restarts, for the next control too', async () => {
    void rig.start({});
    await rig.turn(2_000);
    rig.keeper.exit(rig.keeper.alive[0].instanceId, { code: 1 });
    await rig.turn();
    expect((await rig.list())[0].restarts).toBe(1);
    await rig.call('reset', { targets: ['all'] });
    await rig.boot();
    expect((await rig.list())[0].restarts).toBe(0);
  });

  test.each([
    ['was stopped', {}, () => void rig.call('stop', { targets: ['api'] })],
    [
      'was stopped, and control restarted',
      {},
      async () => {
        void rig.call('stop', { targets: ['api'] });
        await rig.turn(2_000);
        await rig.boot();
      },
    ],
    ['has finished', { autorestart: false }, () => rig.keeper.exit(rig.keeper.alive[0].instanceId, { code: 0 })],
  ])('the start of an app that %s is not a restart, as in PM2', async (_, spec, end) => {
    void rig.start(spec);
    await rig.turn(2_000);
    await end();
    await rig.turn(2_000);
    for (const how of ['start', 'reload', 'restart']) {
      const before = (await rig.list())[0];
      void rig.call(how, { targets: ['api'] });
      await rig.turn(5_000);
      expect((await rig.list())[0]).toMatchObject({ status: 'online', restarts: before.restarts });
      await end();
      await rig.turn(2_000);
    }
    void rig.call('start', { targets: ['api'] });
    await rig.turn(5_000);
    void rig.call('restart', { targets: ['api'] });
    await rig.turn(5_000);
    expect((await rig.list())[0]).toMatchObject({ status: 'online', restarts: 1 });
  });

  test('a connection that sends many requests keeps no listener for an answered one', async () => {
    const { signal } = new AbortController();
    const change = (desired) => ({ desired, up: [], gone: [], about: [] });
    for (let n = 0; n < 3; n++) await rig.control.waitFor(rig.control.mutate('save', `token-${n}`, change), signal);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('a request that is sent twice is done once, and both get the answer', async () => {
    void rig.start({});
    await rig.turn();
    const token = rig.token();
    const both = [
      watch(rig.call('restart', { targets: ['api'], token })),
      watch(rig.call('restart', { targets: ['api'], token })),
    ];
    await rig.turn();
    expect(both.map(({ state }) => state)).toEqual(['done', 'done']);
    expect((await rig.list())[0].restarts).toBe(1);
  });
});

describe('the shutdown', () => {
  test('kill retires every instance, answers, and leaves an empty list', async () => {
    void rig.start({ instances: 2 });
    await rig.turn();
    const request = watch(rig.control.end('kill'));
    await rig.turn();
    expect([request.state, rig.left, rig.keeper.hasLeft, rig.keeper.alive.length]).toEqual(['done', 0, true, 0]);
  });

  test('a keeper that is asked to exit has its apps retired, and the desired state is kept', async () => {
    void rig.start({ instances: 2 });
    await rig.turn();
    rig.keeper.terminate();
    await rig.turn(1);
    await expect(rig.start({ name: 'other' })).rejects.toMatchObject({ code: 'ERR_NCLUST_SHUTTING_DOWN' });
    await rig.turn();
    expect([rig.left, rig.keeper.alive.length]).toEqual([0, 0]);
    expect(rig.wanted()).toEqual(['api/0', 'api/1']);
  });
});

describe('the next control', () => {
  test('the next control finds the same pids, counters, start times and deaths', async () => {
    void rig.start({ instances: 2 });
    await rig.turn(5_000);
    rig.keeper.exit(rig.keeper.alive[0].instanceId, { code: 4 });
    await rig.turn(5_000);
    const before = await rig.list({ detail: true });
    await rig.boot();
    expect(await rig.list({ detail: true })).toEqual(before);
    await rig.turn(20_000);
    expect(rig.spawned()).toHaveLength(3);
  });

  test('the next control keeps waiting for the end of a back-off', async () => {
    rig.keeper.behave = () => ({ exitsAfterMs: 1, code: 1 });
    void rig.start({}).catch(() => {});
    await rig.turn(3_200); // Attempts at 0, 101, 302, 703, 1504, 3105.
    const count = rig.spawned().length;
    await rig.boot();
    expect(await rig.list()).toMatchObject([{ status: 'waiting restart', unstableRestarts: count }]);
    await rig.turn(2_500);
    expect(rig.spawned()).toHaveLength(count);
    await rig.turn(1_000);
    expect(rig.spawned()).toHaveLength(count + 1);
  });

  test('the next control learns of a death that no control saw, and restarts the instance', async () => {
    void rig.start({});
    await rig.turn(5_000);
    rig.control.close();
    const { instanceId } = rig.keeper.alive[0];
    rig.keeper.connect();
    rig.keeper.exit(instanceId, { code: 5 });
    await rig.turn(10);
    await rig.boot();
    await rig.turn(20);
    expect(await rig.list()).toMatchObject([
      { status: 'online', restarts: 1, lastDeath: { code: 5, wasReady: true, uptimeMs: 5_000 } },
    ]);
  });

  test('the next control keeps the boot deadline of an instance that was starting', async () => {
    rig.keeper.behave = () => ({});
    void rig.start({ waitReady: true, listenTimeoutMs: 1_000 }).catch(() => {});
    await rig.turn(600);
    await rig.boot();
    await rig.turn(390);
    expect(await statusOf()).toEqual(['launching']);
    await rig.turn(30);
    expect((await rig.list())[0].lastDeath).toMatchObject({ cause: 'boot-timeout' });
  });

  test('the next control retires running instances that are not wanted', async () => {
    void rig.start({ instances: 2 });
    await rig.turn();
    rig.store.forget();
    await rig.boot();
    await rig.turn();
    expect(rig.keeper.alive).toEqual([]);
  });

  test('the next control leaves unlisted processes alone while its list may lack changes, until a kill', async () => {
    void rig.start({ instances: 2 });
    await rig.turn();
    rig.store.forget();
    rig.store.isExact = false;
    await rig.boot();
    await rig.turn(60_000);
    expect(rig.keeper.alive).toHaveLength(2);
    void rig.control.end('kill');
    await rig.turn();
    expect(rig.keeper.alive).toEqual([]);
    expect(rig.left).toBe(0);
  });

  test('the next control leaves strays alone when the list is whole again, and no new app gets their id', async () => {
    void rig.start({ instances: 2 });
    await rig.turn();
    const strays = rig.keeper.alive.map(({ instanceId }) => instanceId);
    rig.store.forget();
    rig.store.isExact = false;
    await rig.boot();
    await rig.turn();
    void rig.start({ name: 'new', instances: 1 });
    await rig.turn();
    expect((await rig.list()).map(({ id }) => id)).toEqual([2]);
    rig.store.isExact = true;
    await rig.boot();
    await rig.turn(60_000);
    expect(rig.keeper.alive.map(({ instanceId }) => instanceId)).toEqual(expect.arrayContaining(strays));
    void rig.control.end('kill');
    await rig.turn();
    expect(rig.keeper.alive).toEqual([]);
  });

  test('the next control adopts an instance that the last act of a dead control started', async () => {
    void rig.start({ instances: 1 });
    await rig.turn();
    const [{ label }] = rig.keeper.alive;
    // This spawn came after the snapshot, so control gets the 'listening' event without a spawn.
    rig.keeper.children.set('late', {
      ...rig.keeper.alive[0],
      instanceId: 'late',
      pid: 77,
      label: { ...label, spawns: 2 },
      addresses: [],
      timers: [],
    });
    rig.keeper.listen('late');
    await rig.turn();
    expect(rig.keeper.alive.map(({ instanceId }) => instanceId)).not.toContain('late');
    expect(rig.running()).toEqual(['api/0']);
  });
});

describe('when the keeper dies', () => {
  test('the next keeper adopts the orphans, and they are replaced one beside the other', async () => {
    void rig.start({ instances: 2 });
    await rig.turn(5_000);
    rig.orphans = rig.keeper.alive.map((child) => ({
      instanceId: child.instanceId,
      pid: child.pid,
      startTicks: '1',
      startedAtMs: child.startedAtMs,
      name: 'api',
      id: child.label.id,
      outPipe: null,
      errPipe: null,
    }));
    const old = rig.orphans.map(({ pid }) => pid);
    rig.keeper.die();
    await rig.turn(0);
    expect(rig.keeper.requests.filter(({ verb }) => verb === 'adopt')).toHaveLength(2);
    let fewest = 2;
    rig.keeper.behave = () => (
      (fewest = Math.min(fewest, rig.keeper.alive.filter((child) => !child.isRetiring).length)),
      { listensAfterMs: 10 }
    );
    await rig.turn();
    expect(fewest).toBe(2);
    const slots = await rig.list();
    expect(slots).toMatchObject([
      { status: 'online', generation: 2, restarts: 1 },
      { status: 'online', generation: 2, restarts: 1 },
    ]);
    for (const { pid } of slots) expect(old).not.toContain(pid);
    expect(rig.keeper.alive).toHaveLength(2);
  });

  const spawnsOf = (keeper) => keeper.requests.filter(({ verb }) => verb === 'spawn').map(({ params }) => params);

  test('no process gets the slot of another app, whatever id or slot it claims', async () => {
    void rig.start({ name: 'victim', instances: 1 });
    void rig.start({ name: 'bad', instances: 1 });
    await rig.turn(5_000);
    const [victim, bad] = asOrphans(rig.keeper.alive);
    const before = rig.keeper.alive.map(({ label }) => label);
    rig.orphans = [
      { ...bad, instanceId: victim.instanceId, pid: 77 },
      { ...bad, instanceId: 'unknown', pid: 78, id: victim.id, name: 'victim' },
      victim,
      bad,
    ];
    rig.keeper.die();
    await rig.turn(0);
    const adopted = rig.keeper.requests.filter(({ verb }) => verb === 'adopt').map(({ params }) => params);
    expect(adopted.map(({ pid }) => pid)).toEqual([78, victim.pid, bad.pid]);
    expect(adopted.slice(1).map(({ label }) => label)).toEqual(before);
    expect(adopted[0]).toMatchObject({
      app: 'removed\tvictim',
      scope: 'removed\tvictim',
      label: { id: -1, outFile: '' },
    });
    await rig.turn();
    expect(rig.keeper.alive.map(({ pid }) => pid)).not.toContain(78);
    expect(rig.running()).toEqual(['bad/0', 'victim/0']);
  });

  test('one orphan stays if keepers die repeatedly at the start of an app, which then gets no channel', async () => {
    void rig.start({ instances: 1 });
    await rig.turn(5_000);
    rig.behaveNext = () => ({ stopsAfterMs: 500 });
    for (const died of [1, 2]) {
      const { keeper } = rig;
      rig.orphans = asOrphans(keeper.alive);
      expect(rig.orphans).toHaveLength(died);
      keeper.die();
      await rig.turn(1);
    }
    // The second successor waits until the first one, which is an orphan too, has exited.
    expect(spawnsOf(rig.keeper)).toEqual([]);
    const surplus = rig.orphans[1].instanceId;
    expect(rig.keeper.requests.filter(({ verb }) => verb === 'retire')).toMatchObject([
      { params: { instanceId: surplus } },
    ]);
    await rig.turn(600);
    expect(spawnsOf(rig.keeper)).toMatchObject([{ mode: 'cluster' }]);
    rig.orphans = asOrphans(rig.keeper.alive.filter(({ instanceId }) => instanceId !== surplus));
    rig.keeper.die();
    await rig.turn(2_000);
    expect(spawnsOf(rig.keeper)).toMatchObject([{ mode: 'exec', hasChannel: false, hasPreload: false }]);
    await rig.turn(60_000);
    expect(rig.running()).toEqual(['api/0']);
    void rig.call('restart', { targets: ['api'] });
    await rig.turn();
    expect(spawnsOf(rig.keeper).at(-1)).toMatchObject({ mode: 'cluster' });
    expect(rig.running()).toEqual(['api/0']);
  });

  test('a waiting request is answered through the next keeper', async () => {
    const request = watch(rig.start({ instances: 2 }));
    await rig.turn(5);
    rig.keeper.die();
    await rig.turn();
    expect(request.state).toBe('done');
    expect(rig.running()).toEqual(['api/0', 'api/1']);
  });

  test('orphans are found and replaced if keeper and control die, and those without an app are ended', async () => {
    void rig.start({});
    await rig.turn();
    rig.orphans = [
      { instanceId: 'a', pid: 11, startTicks: '1', startedAtMs: 0, name: 'api', id: 0, outPipe: null, errPipe: null },
      { instanceId: 'b', pid: 12, startTicks: '1', startedAtMs: 0, name: 'gone', id: 7, outPipe: null, errPipe: null },
    ];
    const { FakeKeeper } = await import('../../helpers/fake-keeper.js');
    rig.keeper = new FakeKeeper(rig.clock);
    await rig.boot();
    await rig.turn();
    expect(rig.running()).toEqual(['api/0']);
    expect(rig.keeper.alive).toHaveLength(1);
    expect(rig.keeper.alive[0].isAdopted).toBe(false);
  });
});
