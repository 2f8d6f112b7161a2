import { beforeEach, describe, expect, test } from 'vitest';
import { asOrphans, createRig, watch } from './control-rig.js';

let rig;

beforeEach(async () => {
  rig = createRig();
  await rig.boot();
});

async function running(fields = {}) {
  void rig.start({ instances: 4, ...fields });
  await rig.turn(5_000);
  return rig.keeper.alive.map(({ pid }) => pid);
}

const reload = (more = {}) => watch(rig.call('reload', { targets: ['api'], ...more }));
const generations = async () => (await rig.list()).map(({ generation }) => generation);
const statuses = async () => (await rig.list()).map(({ status }) => status);
const serving = () =>
  rig.keeper.alive.filter(
    (child) => child.addresses.length > 0 && !child.isGated && !child.isParked && !child.isRetiring,
  );
const asked = (verb) => rig.keeper.requests.filter((request) => request.verb === verb).map(({ params }) => params);

describe('reload', () => {
  test('reload replaces every instance, the first gated until it has lived for minUptime and answered', async () => {
    const old = await running();
    const request = reload();
    await rig.turn(999);
    expect(rig.keeper.alive.map(({ pid, isGated }) => [pid, isGated])).toEqual([
      ...old.map((pid) => [pid, false]),
      [1004, true],
    ]);
    expect(asked('ping')).toEqual([]);
    await rig.turn(1);
    expect([asked('ping').length, rig.keeper.children.get('i0-4').isGated]).toEqual([1, false]);
    await rig.turn(100);
    expect(request.result.slots).toMatchObject([
      { generation: 2, status: 'online', restarts: 1 },
      { generation: 2 },
      { generation: 2 },
      { generation: 2 },
    ]);
    expect(rig.keeper.alive.map(({ pid }) => pid)).toEqual([1004, 1005, 1006, 1007]);
    expect(rig.keeper.alive.every(({ isGated }) => !isGated)).toBe(true);
  });

  test('reload never has fewer instances serving than before, nor more than maxSurge beside them', async () => {
    await running({ maxSurge: 2 });
    const counts = { serving: [], beside: [] };
    rig.keeper.behave = () => {
      counts.serving.push(serving().length);
      counts.beside.push(rig.keeper.alive.filter((child) => child.isGated).length);
      return { listensAfterMs: 10, stopsAfterMs: 500 };
    };
    const request = reload();
    await rig.turn(3_000);
    expect(request.state).toBe('done');
    expect(Math.min(...counts.serving)).toBe(4);
    // When a new instance starts, there is at most one other new instance.
    expect(Math.max(...counts.beside)).toBe(1);
  });

  test('a higher maxSurge tries that many at once, and retires no old one before the first has passed', async () => {
    const old = await running({ maxSurge: 3 });
    rig.keeper.behave = ({ label }) => ({ bootsAfterMs: 10 + 400 * label.slot, listensAfterMs: 10 + 400 * label.slot });
    const request = reload();
    await rig.turn(1_009);
    expect(rig.keeper.alive.map(({ pid, isGated }) => [pid, isGated])).toEqual([
      ...old.map((pid) => [pid, false]),
      [1004, true],
      [1005, true],
      [1006, true],
    ]);
    expect(asked('retire')).toEqual([]);
    await rig.turn(1);
    expect(rig.keeper.alive.filter(({ isGated }) => isGated).map(({ label }) => label.slot)).toEqual([1, 2, 3]);
    expect(serving().map(({ label, pid }) => [label.slot, old.includes(pid)])).toEqual([
      [1, true],
      [2, true],
      [3, true],
      [0, false],
    ]);
    await rig.turn(3_000);
    expect([request.state, rig.keeper.alive.map(({ pid }) => pid)]).toEqual(['done', [1004, 1005, 1006, 1007]]);
  });

  test('a reload of four with maxSurge 4 and nothing to wait for takes as long as one', async () => {
    await running({ maxSurge: 4, minUptimeMs: 0 });
    rig.keeper.behave = () => ({ bootsAfterMs: 100, listensAfterMs: 100 });
    const request = reload();
    await rig.turn(110);
    expect(request.state).toBe('done');
  });

  test('drains of old instances overlap', async () => {
    rig.keeper.behave = () => ({ listensAfterMs: 10, stopsAfterMs: 3_000 });
    await running();
    const request = reload();
    await rig.turn(1_000 + 3 * 10 + 3_000);
    expect(request.state).toBe('pending');
    await rig.turn(20);
    expect(request.state).toBe('done');
  });

  test('reload waits for the ready message of an app that sends one before it gets connections', async () => {
    rig.keeper.behave = () => ({ listensAfterMs: 5, readyAfterMs: 300 });
    await running({ waitReady: true, instances: 2, minUptimeMs: 100 });
    const request = reload();
    await rig.turn(299);
    expect(asked('admit')).toEqual([]);
    await rig.turn(1);
    expect(asked('admit')).toHaveLength(1);
    await rig.turn(299);
    expect(asked('admit')).toHaveLength(1);
    await rig.turn(10);
    expect([asked('admit').length, request.state]).toEqual([2, 'done']);
  });

  test('reload applies a new environment and new settings, which the next start uses as well', async () => {
    await running({ env: { A: '1', B: '1' } });
    const request = reload({ env: { A: '2' }, spec: { interpreterArgs: ['--x'] } });
    await rig.turn(2_000);
    expect(request.state).toBe('done');
    expect(rig.keeper.alive.map(({ env }) => [env.A, env.B])).toEqual(Array(4).fill(['2', '1']));
    expect(rig.control.registry.desired.apps[0]).toMatchObject({
      previous: [],
      rollout: { isGuarded: false },
      slots: [{ generation: 2 }, {}, {}, {}],
    });
    expect(rig.control.registry.desired.apps[0].slots.some((slot) => 'former' in slot)).toBe(false);
  });

  test('a reload of one instance leaves the others alone', async () => {
    const old = await running();
    const request = watch(rig.call('reload', { targets: ['2'] }));
    await rig.turn(2_000);
    expect([request.state, await generations()]).toEqual(['done', [1, 1, 2, 1]]);
    expect(rig.keeper.alive.map(({ pid }) => pid)).toEqual([...old.filter((pid) => pid !== 1002), 1004]);
  });

  test('reload applies changes for all apps, and for each app those under its name', async () => {
    await running();
    void rig.start({ name: 'worker', instances: 1 });
    await rig.turn(2_000);
    const request = watch(
      rig.call('reload', {
        targets: ['all'],
        spec: { maxSurge: 4 },
        specs: { api: { nodeVersion: 'v22.1.0' }, worker: { nodeVersion: 'v24.1.0' } },
      }),
    );
    await rig.turn(3_000);
    expect([
      request.state,
      rig.control.registry.desired.apps.map(({ spec }) => [spec.name, spec.maxSurge, spec.nodeVersion]),
    ]).toEqual([
      'done',
      [
        ['api', 4, 'v22.1.0'],
        ['worker', 4, 'v24.1.0'],
      ],
    ]);
  });

  test.each([
    ['spec.instances', { spec: { instances: 2 } }],
    ['specs.api.instances', { specs: { api: { instances: 2 } } }],
    ['specs.api.maxSurge', { specs: { api: { maxSurge: 'x' } } }],
  ])('a reload with an invalid %s is refused and changes nothing', async (keyPath, params) => {
    await running();
    const request = reload(params);
    await rig.turn();
    expect([request.state, request.error.message]).toEqual(['failed', expect.stringContaining(keyPath)]);
    expect(await generations()).toEqual([1, 1, 1, 1]);
  });

  test('a reload of a stopped app starts it, all instances at once', async () => {
    await running();
    void rig.call('stop', { targets: ['api'] });
    await rig.turn();
    const request = reload();
    await rig.turn(15);
    expect([request.state, await statuses()]).toEqual(['done', Array(4).fill('online')]);
  });

  test('a reload of a failed app starts it', async () => {
    rig.keeper.behave = () => ({ exitsAfterMs: 1, code: 1 });
    void rig.start({ maxRestarts: 0 }).catch(() => {});
    await rig.turn(1_000);
    expect(await statuses()).toEqual(['errored']);
    rig.keeper.behave = () => ({ listensAfterMs: 1 });
    const request = reload();
    await rig.turn(10);
    expect(request.state).toBe('done');
  });

  test('a reload of an app in fork mode that listens starts the new instance beside the old one', async () => {
    await running({ mode: 'fork', instances: 1 });
    let atSpawn = 0;
    rig.keeper.behave = () => ((atSpawn = serving().length), { listensAfterMs: 10 });
    const request = reload();
    await rig.turn(2_000);
    expect([request.state, atSpawn]).toEqual(['done', 1]);
  });

  test.each([
    ['in fork mode that does not listen', { mode: 'fork' }],
    ['that is no Node program', { mode: 'fork', kind: 'exec' }],
  ])('a reload of an app %s stops the old instance first', async (_what, fields) => {
    rig.keeper.behave = () => ({});
    await running({ ...fields, instances: 2 });
    let most = 0;
    rig.keeper.behave = () => ((most = Math.max(most, rig.keeper.alive.length + 1)), {});
    const request = reload();
    await rig.turn(5_000);
    expect([request.state, most, await generations()]).toEqual(['done', 2, [2, 2]]);
  });
});

test('an instance in fork mode has to listen where the old one of its slot does', async () => {
  rig.keeper.behave = ({ label }) => ({ listensAfterMs: 10, ports: [3000 + label.slot] });
  await running({ mode: 'fork', instances: 2 });
  const request = reload();
  await rig.turn(3_000);
  expect([request.error, request.state]).toEqual([null, 'done']);
  rig.keeper.behave = () => ({ listensAfterMs: 10, ports: [5000] });
  const bad = reload();
  await rig.turn(12_000);
  expect(bad.error.message).toContain('it did not listen on [::]:3000, but on [::]:5000');
});

test('a keeper of an earlier version without gates is used as far as it goes', async () => {
  await running();
  rig.keeper.lacks = new Set(['ping', 'admit', 'sample']);
  const request = reload();
  await rig.turn(3_000);
  expect([request.state, await generations()]).toEqual(['done', [2, 2, 2, 2]]);
});

test('a program that is not Node.js is never gated', async () => {
  rig.keeper.behave = () => ({});
  await running({ mode: 'fork', kind: 'exec', instances: 1 });
  const request = reload();
  await rig.turn(3_000);
  expect([request.state, rig.spawned().some(({ params }) => params.isGated)]).toEqual(['done', false]);
});

describe('a bad deploy', () => {
  const BAD = [
    ['exits at once', { exitsAfterMs: 5, code: 1 }, 'exited with code 1'],
    ['exits with 0', { listensAfterMs: 2, exitsAfterMs: 5, code: 0 }, 'exited with code 0'],
    [
      'crashes while it is on trial',
      { listensAfterMs: 10, exitsAfterMs: 900, code: 1 },
      'exited with code 1 after 900ms',
    ],
    ['cannot be started', { refuses: 'ENOENT' }, 'could not be started: ENOENT'],
    ['never listens', {}, 'was not ready in 10s (it did not listen on [::]:3000)'],
    [
      'listens elsewhere',
      { listensAfterMs: 10, ports: [4000] },
      'was not ready in 10s (it did not listen on [::]:3000, but on [::]:4000)',
    ],
    ['hangs', { listensAfterMs: 10, isHung: true }, 'was not ready in 10s (its event loop did not answer)'],
  ];

  test.each(BAD)('a bad deploy that %s changes nothing', async (_what, behaviour, reason) => {
    const old = await running();
    rig.lastLines = ['boom'];
    rig.keeper.behave = () => behaviour;
    const request = reload({ spec: { killTimeoutMs: 7 } });
    await rig.turn(20_000);
    expect(request.error).toMatchObject({
      code: 'ERR_NCLUST_RELOAD_FAILED',
      exitStatus: 1,
      data: { slots: [{ slot: 0 }], running: [0, 1, 2, 3].map((slot) => ({ slot, generation: 1 })) },
    });
    expect(request.error.message).toContain(reason);
    expect(request.error.message).toContain('The 4 old instances are still serving.');
    if (!behaviour.refuses) expect(request.error.data.slots[0].lastLines).toEqual(['boom']);
    expect(rig.keeper.alive.map(({ pid }) => pid)).toEqual(old);
    expect(rig.spawned()).toHaveLength(5);
    expect([await statuses(), await generations()]).toEqual([Array(4).fill('online'), Array(4).fill(1)]);
    expect(rig.control.registry.desired.apps[0]).toMatchObject({ previous: [], spec: { killTimeoutMs: 10_000 } });
    expect(rig.control.registry.seats.size).toBe(4);
  });

  test.each(BAD)('a bad deploy of three at once that %s changes nothing', async (_what, behaviour, reason) => {
    const old = await running({ maxSurge: 3 });
    rig.keeper.behave = () => behaviour;
    const request = reload();
    await rig.turn(40_000);
    expect(request.error).toMatchObject({
      code: 'ERR_NCLUST_RELOAD_FAILED',
      data: { running: [0, 1, 2, 3].map((slot) => ({ slot, generation: 1 })) },
    });
    expect(request.error.message).toContain(reason);
    expect(rig.keeper.alive.map(({ pid }) => pid)).toEqual(old);
    expect([asked('admit'), rig.spawned().length]).toEqual([[], 7]);
    expect((await rig.list()).map(({ status, generation, restarts }) => [status, generation, restarts])).toEqual(
      Array(4).fill(['online', 1, 0]),
    );
  });

  test('a bad deploy has the same outcome if a restart left one instance crashing and one on old code', async () => {
    const [, old] = await running({ mode: 'cluster', instances: 2 });
    rig.keeper.behave = () => ({ exitsAfterMs: 50, code: 3 });
    const restart = watch(rig.call('restart', { targets: ['api'] }));
    await rig.turn(1_000);
    expect([restart.state, rig.keeper.alive.map(({ pid }) => pid)]).toEqual(['failed', [old]]);
    const request = reload();
    await rig.turn(2_000);
    expect(request.error).toMatchObject({
      code: 'ERR_NCLUST_RELOAD_FAILED',
      data: { running: [{ slot: 1, generation: 1 }] },
    });
    expect(request.error.message).toContain('exited with code 3');
    await rig.turn(300_000);
    expect([await statuses(), rig.keeper.alive.map(({ pid }) => pid)]).toEqual([['errored', 'online'], [old]]);
  });

  test('a bad deploy that shows in one of three tried instances ends the other two', async () => {
    const old = await running({ maxSurge: 3 });
    rig.keeper.behave = ({ label }) => ({
      listensAfterMs: 10,
      ...(label.slot === 1 ? { exitsAfterMs: 900, code: 1 } : {}),
    });
    const request = reload();
    await rig.turn(30_000);
    expect(request.error.message).toContain(
      'instance 1 exited with code 1 after 900ms. The 4 old instances are still serving.',
    );
    expect([rig.keeper.alive.map(({ pid }) => pid), asked('admit'), rig.spawned().length]).toEqual([old, [], 7]);
    expect((await rig.list()).map(({ restarts }) => restarts)).toEqual([0, 0, 0, 0]);
  });

  test('a deploy with an environment that moves the app may listen anywhere', async () => {
    await running();
    rig.keeper.behave = () => ({ listensAfterMs: 10, ports: [4000] });
    const request = reload({ env: { PORT: '4000' } });
    await rig.turn(3_000);
    expect(request.state).toBe('done');
  });

  test('a bad deploy that fails later stops there, and the error reports which instances run which code', async () => {
    await running();
    let count = 0;
    rig.keeper.behave = () => (++count <= 2 ? { listensAfterMs: 10 } : { exitsAfterMs: 5, code: 3 });
    const request = reload({ env: { NEW: '1' } });
    await rig.turn(3_000);
    expect(request.error.message).toContain('instance 2 exited with code 3');
    expect(request.error.message).toContain('Instances 0, 1 run the new code, Instances 2, 3 run the old.');
    expect(await generations()).toEqual([2, 2, 1, 1]);
    expect(await statuses()).toEqual(Array(4).fill('online'));
    // After a crash, each instance restarts with the code that it ran before.
    rig.keeper.behave = () => ({ listensAfterMs: 10 });
    for (const child of rig.keeper.alive) rig.keeper.exit(child.instanceId, { code: 1 });
    await rig.turn(3_000);
    expect(rig.keeper.alive.map(({ env, label }) => [label.slot, env.NEW]).sort()).toEqual([
      [0, '1'],
      [1, '1'],
      [2, undefined],
      [3, undefined],
    ]);
    const second = reload();
    await rig.turn(3_000);
    expect([second.state, await generations()]).toEqual(['done', [3, 3, 3, 3]]);
    expect(rig.control.registry.desired.apps[0]).toMatchObject({ previous: [], spec: { shellEnv: { NEW: '1' } } });
  });

  test('a bad deploy that crashes after it was admitted, while others are replaced, stops there too', async () => {
    await running();
    rig.keeper.behave = ({ label }) =>
      label.slot === 0 ? { listensAfterMs: 10, exitsAfterMs: 1_100, code: 7 } : { listensAfterMs: 200 };
    const request = reload();
    await rig.turn(3_000);
    expect(request.error).toMatchObject({ code: 'ERR_NCLUST_RELOAD_FAILED' });
    expect(request.error.message).toContain('exited with code 7');
    expect([await statuses(), await generations()]).toEqual([Array(4).fill('online'), [1, 1, 1, 1]]);
  });

  test('a bad deploy of an app that stops first restores the old instance', async () => {
    rig.keeper.behave = () => ({});
    await running({ mode: 'fork', instances: 1 });
    rig.keeper.behave = ({ env }) => (env.BAD ? { exitsAfterMs: 5, code: 1 } : {});
    const request = reload({ env: { BAD: '1' } });
    await rig.turn(3_000);
    expect(request.error).toMatchObject({ code: 'ERR_NCLUST_RELOAD_FAILED' });
    expect([await statuses(), await generations()]).toEqual([['online'], [1]]);
    expect(rig.keeper.alive[0].env.BAD).toBe(undefined);
  });

  test('a bad deploy is also guarded against right after a start without a waiting client', async () => {
    rig.keeper.behave = ({ env }) => (env.BAD ? { exitsAfterMs: 5, code: 1 } : { listensAfterMs: 200 });
    void rig.start({ instances: 2 });
    await rig.turn(100);
    const request = reload({ env: { BAD: '1' } });
    await rig.turn(3_000);
    expect([request.error.code, await generations()]).toEqual(['ERR_NCLUST_RELOAD_FAILED', [1, 1]]);
  });

  test('a bad deploy is reported with the death of the new instance, however the old one there dies', async () => {
    await running();
    rig.keeper.behave = ({ label }) => (label.generation === 2 ? { goneAfterMs: 100 } : { listensAfterMs: 10 });
    const request = reload();
    await rig.turn(10_050);
    rig.keeper.exit(rig.keeper.alive[0].instanceId, { signal: 'SIGKILL' });
    await rig.turn(3_000);
    expect(request.error.message).toContain('instance 0 was not ready in 10s');
  });

  test('a bad deploy leaves an instance stopped that is stopped during the reload', async () => {
    await running();
    rig.keeper.behave = () => ({ listensAfterMs: 5, exitsAfterMs: 800, code: 1 });
    const request = reload();
    await rig.turn(500);
    void rig.call('stop', { targets: ['3'] });
    await rig.turn(3_000);
    expect([request.state, await statuses()]).toEqual(['failed', ['online', 'online', 'online', 'stopped']]);
    expect(rig.control.registry.desired.apps[0].slots.map(({ generation }) => generation)).toEqual([1, 1, 1, 1]);
  });

  test('a bad deploy is guarded against while one instance is restarted', async () => {
    await running();
    rig.keeper.behave = ({ label }) =>
      label.generation === 2 ? { listensAfterMs: 5, exitsAfterMs: 800, code: 1 } : { listensAfterMs: 5 };
    const request = reload();
    await rig.turn(500);
    const restart = watch(rig.call('restart', { targets: ['3'] }));
    await rig.turn(3_000);
    expect([request.state, restart.state, await generations()]).toEqual(['failed', 'done', [1, 1, 1, 3]]);
  });

  test('a deploy that moves is judged by the next one that does not, compared with the serving instances', async () => {
    await running();
    const first = reload({ env: { PORT: '4000' } });
    rig.keeper.behave = () => ({ listensAfterMs: 10, ports: [4000] });
    await rig.turn(500);
    const second = reload();
    await rig.turn(3_000);
    expect([first.state, second.state, await generations()]).toEqual(['done', 'done', [3, 3, 3, 3]]);
  });

  test('a bad deploy that listens elsewhere is noticed by the next control too', async () => {
    await running();
    for (let crash = 0; crash < 3; crash++) {
      for (const child of rig.keeper.alive.filter(({ label }) => label.slot > 0))
        rig.keeper.exit(child.instanceId, { code: 1 });
      await rig.turn(2_000);
    }
    rig.keeper.behave = ({ label }) =>
      label.generation === 2 ? { listensAfterMs: 10, ports: [4000] } : { exitsAfterMs: 1, code: 1 };
    reload();
    rig.keeper.exit(rig.keeper.alive.find(({ label }) => label.slot === 0).instanceId, { code: 1 });
    await rig.turn(500);
    await rig.boot();
    await rig.turn(3_000);
    expect(asked('admit')).toEqual([]);
  });

  test('a bad deploy leaves an instance stopped that was stopped before', async () => {
    await running();
    void rig.call('stop', { targets: ['3'] });
    await rig.turn();
    rig.keeper.behave = () => ({ exitsAfterMs: 5, code: 1 });
    const request = reload();
    await rig.turn(3_000);
    expect([request.state, await statuses()]).toEqual(['failed', ['online', 'online', 'online', 'stopped']]);
  });
});

describe('a reload of several apps', () => {
  beforeEach(async () => {
    await running({ instances: 2 });
    void rig.start({ name: 'worker', instances: 2 });
    await rig.turn(5_000);
  });

  const reloadAll = () => watch(rig.call('reload', { targets: ['all'] }));
  const renewedAs = (worker, api = { listensAfterMs: 10 }) => {
    rig.keeper.behave = ({ label }) => (label.name === 'worker' ? worker : api);
  };
  const shown = async () => (await rig.list()).map(({ name, generation, status }) => `${name} ${generation} ${status}`);

  test('a reload of several apps has an outcome for each app, and the error names only the bad one', async () => {
    const old = rig.keeper.alive.filter(({ label }) => label.name === 'worker').map(({ pid }) => pid);
    renewedAs({ exitsAfterMs: 5, code: 7 });
    const request = reloadAll();
    await rig.turn(5_000);
    expect(await shown()).toEqual(['api 2 online', 'api 2 online', 'worker 1 online', 'worker 1 online']);
    expect(rig.keeper.alive.filter(({ label }) => label.name === 'worker').map(({ pid }) => pid)).toEqual(old);
    expect(request.error).toMatchObject({
      code: 'ERR_NCLUST_RELOAD_FAILED',
      exitStatus: 1,
      data: {
        slots: [{ name: 'worker', slot: 0 }],
        running: [
          { slot: 0, generation: 1 },
          { slot: 1, generation: 1 },
        ],
      },
    });
    expect(request.error.data.slots).toHaveLength(1);
    expect(request.error.message).toBe(
      'Reload of "worker" stopped: instance 0 exited with code 7 after 5ms. The 2 old instances are still serving.',
    );
    expect(`${request.error.message} ${request.error.hint}`).not.toContain('api');
    const ends = rig.events
      .filter(({ event }) => event === 'rollout-done' || event === 'rollout-halted')
      .map(({ event, app }) => [event, app]);
    expect(ends).toEqual([
      ['rollout-halted', 'worker'],
      ['rollout-done', 'api'],
    ]);
  });

  test.each([
    ['crashes', { exitsAfterMs: 5, code: 7 }],
    ['crashes while it is on trial', { listensAfterMs: 10, exitsAfterMs: 900, code: 7 }],
    ['hangs', { listensAfterMs: 10, isHung: true }],
    ['never listens', {}],
    ['takes nine seconds', { listensAfterMs: 9_000 }],
  ])('a reload of several apps finishes the good app as soon as alone, when another %s', async (_what, behaviour) => {
    renewedAs(behaviour);
    reloadAll();
    // The canary of the good app soaks for a second.
    await rig.turn(1_000);
    expect(rig.keeper.alive.find(({ label }) => label.name === 'api' && label.generation === 2).isGated).toBe(false);
    await rig.turn(100);
    expect((await shown()).slice(0, 2)).toEqual(['api 2 online', 'api 2 online']);
    expect(rig.keeper.alive.filter(({ label }) => label.name === 'api').map(({ label }) => label.generation)).toEqual([
      2, 2,
    ]);
    expect(rig.events.filter(({ event }) => event === 'rollout-done').map(({ app }) => app)).toEqual(['api']);
    expect((await shown()).slice(2)).toEqual(['worker 1 online', 'worker 1 online']);
  });

  test('a reload of several apps waits for the slow app, and does not give it up because of the bad one', async () => {
    renewedAs({ listensAfterMs: 5_000 });
    const request = reloadAll();
    await rig.turn(9_000);
    expect(request.state).toBe('pending');
    await rig.turn(2_000);
    expect([request.state, await shown()]).toEqual([
      'done',
      ['api 2 online', 'api 2 online', 'worker 2 online', 'worker 2 online'],
    ]);

    renewedAs({ listensAfterMs: 5_000 }, { exitsAfterMs: 5, code: 7 });
    const second = reloadAll();
    await rig.turn(2_000);
    expect(second.state).toBe('pending');
    await rig.turn(10_000);
    expect(second.error).toMatchObject({
      code: 'ERR_NCLUST_RELOAD_FAILED',
      message: expect.stringContaining('Reload of "api" stopped'),
      data: {
        kind: 'halted',
        apps: [{ name: 'api', code: 'ERR_NCLUST_RELOAD_FAILED', instances: 2, isOld: true, running: OLD }],
        done: [{ name: 'worker', instances: 2 }],
      },
    });
    expect(await shown()).toEqual(['api 2 online', 'api 2 online', 'worker 3 online', 'worker 3 online']);
  });
});

const OLD = [0, 1].map((slot) => ({ slot, generation: 2 }));

describe('during a reload', () => {
  test('an old instance that crashes is restarted with the old code', async () => {
    await running({ env: { V: '1' } });
    const request = reload({ env: { V: '2' } });
    await rig.turn(500);
    rig.keeper.exit(rig.keeper.alive[2].instanceId, { code: 1 });
    await rig.turn(50);
    expect(rig.keeper.alive.map(({ env, label }) => [label.slot, env.V])).toEqual([
      [0, '1'],
      [1, '1'],
      [3, '1'],
      [0, '2'],
      [2, '1'],
    ]);
    await rig.turn(3_000);
    expect([request.state, await generations()]).toEqual(['done', [2, 2, 2, 2]]);
  });

  test('an old instance that keeps crashing gets longer and longer pauses, by the next control too', async () => {
    await running({ instances: 2 });
    rig.keeper.behave = ({ label }) =>
      label.generation === 2 ? { listensAfterMs: 9_000 } : { exitsAfterMs: 1, code: 1 };
    reload();
    rig.keeper.exit(rig.keeper.alive[1].instanceId, { code: 1 });
    await rig.turn(900); // Attempts at 0, 101, 302, 703.
    expect(rig.spawned().length).toBe(3 + 4);
    await rig.boot();
    await rig.turn(500);
    expect(rig.spawned().length).toBe(3 + 4);
    await rig.turn(300); // 1504.
    expect(rig.spawned().length).toBe(3 + 5);
  });

  test('a second reload replaces the first, and both are answered by its end', async () => {
    await running({ env: { V: '1' } });
    rig.keeper.behave = ({ env }) => (env.V === '2' ? {} : { listensAfterMs: 10 });
    const first = reload({ env: { V: '2' } });
    await rig.turn(500);
    const second = reload({ env: { V: '3' } });
    await rig.turn(50);
    expect(rig.keeper.alive.filter(({ env }) => env.V === '2')).toEqual([]);
    await rig.turn(3_000);
    expect([first.state, second.state, await generations()]).toEqual(['done', 'done', [3, 3, 3, 3]]);
    expect(rig.keeper.alive.map(({ env }) => env.V)).toEqual(Array(4).fill('3'));
  });

  test('a bad second reload rolls both back to the start', async () => {
    await running({ env: { V: '1' } });
    const first = reload({ env: { V: '2' } });
    await rig.turn(500);
    rig.keeper.behave = ({ env }) => (env.V === '3' ? { exitsAfterMs: 1, code: 1 } : { listensAfterMs: 10 });
    const second = reload({ env: { V: '3' } });
    await rig.turn(3_000);
    expect([first.state, second.state, await generations()]).toEqual(['failed', 'failed', [1, 1, 1, 1]]);
    expect(rig.control.registry.desired.apps[0].spec.env.V).toBe('1');
  });

  test('a second reload in the middle of the first rolls back to what was up', async () => {
    await running({ env: { V: '1' } });
    rig.keeper.behave = ({ env }) => (env.V === '3' ? { exitsAfterMs: 1, code: 1 } : { listensAfterMs: 100 });
    const first = reload({ env: { V: '2' } });
    await rig.turn(1_150); // Two instances have been replaced.
    const second = reload({ env: { V: '3' } });
    await rig.turn(3_000);
    expect([first.state, second.state, await generations()]).toEqual(['failed', 'failed', [2, 2, 1, 1]]);
    for (const child of rig.keeper.alive) rig.keeper.exit(child.instanceId, { code: 1 });
    await rig.turn(3_000);
    expect(rig.keeper.alive.map(({ env, label }) => [label.slot, env.V]).sort()).toEqual([
      [0, '2'],
      [1, '2'],
      [2, '1'],
      [3, '1'],
    ]);
  });

  test.each(['stop', 'delete'])('%s stops old and new instances', async (method) => {
    await running();
    const request = reload();
    await rig.turn(500);
    const end = watch(rig.call(method, { targets: ['api'] }));
    await rig.turn(1_000);
    expect([request.state, end.state, rig.keeper.alive.length]).toEqual(['failed', 'done', 0]);
  });

  test('restart continues without a guard', async () => {
    await running();
    const request = reload();
    await rig.turn(500);
    const restart = watch(rig.call('restart', { targets: ['api'] }));
    await rig.turn(1_000);
    expect([request.state, restart.state, await generations()]).toEqual(['done', 'done', [3, 3, 3, 3]]);
    expect(rig.keeper.alive.some(({ isGated }) => isGated)).toBe(false);
  });

  test('scale up waits for the first new instance, and uses the new generation', async () => {
    await running();
    const request = reload();
    await rig.turn(500);
    const scale = watch(rig.call('scale', { target: 'api', instances: '6' }));
    await rig.turn(400);
    expect([rig.keeper.alive.length, scale.state]).toEqual([5, 'pending']);
    await rig.turn(2_000);
    expect([request.state, scale.state, await generations()]).toEqual(['done', 'done', Array(6).fill(2)]);
  });

  test('scale up ends with the old code if the new one is bad', async () => {
    await running();
    rig.keeper.behave = ({ env }) =>
      env.BAD ? { listensAfterMs: 5, exitsAfterMs: 800, code: 1 } : { listensAfterMs: 5 };
    const request = reload({ env: { BAD: '1' } });
    await rig.turn(500);
    const scale = watch(rig.call('scale', { target: 'api', instances: '6' }));
    await rig.turn(1_000);
    expect([request.state, scale.state, await generations()]).toEqual(['failed', 'done', Array(6).fill(1)]);
    expect(rig.keeper.alive.every(({ env }) => !env.BAD)).toBe(true);
  });

  test('scale down ends with the wanted number', async () => {
    await running();
    const request = reload();
    await rig.turn(1_020);
    const scale = watch(rig.call('scale', { target: 'api', instances: '1' }));
    await rig.turn(2_000);
    expect([scale.state, await generations(), rig.keeper.alive.length]).toEqual(['done', [2], 1]);
    // The reload fails because scale has removed the other instances of the app.
    expect(request.state).toBe('failed');
  });
});

describe('a keeper that dies during a reload', () => {
  beforeEach(async () => {
    await running({ instances: 2, env: { V: '1' } });
  });

  /** Kills the keeper. Its processes continue to run, and the next keeper adopts them. */
  async function loseKeeper(behave, meanwhile = () => {}) {
    const orphans = asOrphans(rig.keeper.alive);
    Object.defineProperty(rig, 'orphans', { get: () => (meanwhile(), orphans) });
    rig.behaveNext = behave;
    rig.keeper.die();
    await rig.turn(5_000);
  }

  test('a keeper that dies has its orphans replaced by good code, and the command is answered', async () => {
    const request = reload({ env: { V: '2' } });
    await rig.turn(500);
    await loseKeeper(() => ({ listensAfterMs: 10 }));
    expect([request.state, rig.keeper.alive.map(({ env, isAdopted }) => [env.V, isAdopted])]).toEqual([
      'done',
      [
        ['2', false],
        ['2', false],
      ],
    ]);
    expect(await statuses()).toEqual(['online', 'online']);
  });

  test('a keeper that dies does not disable the guard against bad code: the orphans that served continue', async () => {
    const pids = rig.keeper.alive.map(({ pid }) => pid);
    const request = reload({ env: { V: '2' } });
    await rig.turn(500);
    await loseKeeper(() => ({ exitsAfterMs: 5, code: 1 }));
    expect([request.error?.code, await statuses(), (await rig.list()).map(({ pid }) => pid)]).toEqual([
      'ERR_NCLUST_RELOAD_FAILED',
      ['online', 'online'],
      pids,
    ]);
    expect(rig.keeper.alive.map(({ instanceId }) => instanceId)).toEqual(['i0-0', 'i0-1']);
    expect(rig.control.registry.desired.apps[0].spec.env.V).toBe('1');
  });

  test('a keeper that dies during a reload cancels a deadline that passes while there is no keeper', async () => {
    const request = reload({ env: { V: '2' } });
    await rig.turn(500);
    // Without a keeper, time passes until the canary has lived long enough.
    await loseKeeper(
      () => ({ listensAfterMs: 10 }),
      () => rig.clock.advance(600),
    );
    expect([request.state, rig.events.filter(({ event }) => event === 'impossible')]).toEqual(['done', []]);
  });

  test('new code that fails at its second start stays where it is up, and the command calls it new', async () => {
    rig.keeper.behave = ({ label }) => ({ listensAfterMs: label.slot === 1 ? 5_000 : 10 });
    const request = reload({ env: { V: '2' } });
    await rig.turn(1_500);
    await loseKeeper(() => ({ exitsAfterMs: 5, code: 1 }));
    expect([request.state, await generations()]).toEqual(['failed', [2, 1]]);
    expect(request.error.message).toContain('Instance 0 runs the new code, Instance 1 runs the old.');
  });
});

test('an instance has until listenTimeout to listen, whatever minUptime is and whenever others start', async () => {
  rig.keeper.behave = ({ label }) => ({ listensAfterMs: label.slot === 0 ? 100 : 500 });
  void rig.start({ instances: 2, minUptimeMs: 300 });
  // After this turn, one of the two instances does not listen yet, so no address has both.
  await rig.turn(400);
  rig.keeper.behave = () => ({ listensAfterMs: 800 });
  const request = reload();
  await rig.turn(3_000);
  expect([request.error, request.state]).toEqual([null, 'done']);
});
