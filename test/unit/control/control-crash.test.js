import { expect, test } from 'vitest';
import { createRig, watch } from './control-rig.js';

// Control is killed before each message to the keeper, and before each write of the state. The
// client repeats its request, with the same token, to the next control.

const OPERATIONS = {
  start: {
    begin: async () => {},
    request: (rig, token) => rig.start({ instances: 3 }, { token }),
    running: ['api/0', 'api/1', 'api/2'],
    spawns: 3,
  },
  restart: {
    begin: (rig) => rig.start({ instances: 3 }),
    request: (rig, token) => rig.call('restart', { targets: ['api'], token }),
    running: ['api/0', 'api/1', 'api/2'],
    spawns: 6,
  },
  reload: {
    begin: (rig) => rig.start({ instances: 3 }),
    request: (rig, token) => rig.call('reload', { targets: ['api'], token }),
    running: ['api/0', 'api/1', 'api/2'],
    spawns: 6,
    takesMs: 1_100,
  },
  'scale up': {
    begin: (rig) => rig.start({ instances: 1 }),
    request: (rig, token) => rig.call('scale', { target: 'api', instances: '+2', token }),
    running: ['api/0', 'api/1', 'api/2'],
    spawns: 3,
  },
  'scale down': {
    begin: (rig) => rig.start({ instances: 3 }),
    request: (rig, token) => rig.call('scale', { target: 'api', instances: '1', token }),
    running: ['api/0'],
    spawns: 3,
  },
  stop: {
    begin: (rig) => rig.start({ instances: 2 }),
    request: (rig, token) => rig.call('stop', { targets: ['api'], token }),
    running: [],
    spawns: 2,
  },
  delete: {
    begin: (rig) => rig.start({ instances: 2 }),
    request: (rig, token) => rig.call('delete', { targets: ['api'], token }),
    running: [],
    spawns: 2,
  },
};

/** Allows this many steps, then control is dead. */
function countdown(steps) {
  let left = steps;
  return { mayPass: () => left-- > 0, passed: () => steps - left };
}

async function prepared(operation) {
  const rig = createRig();
  await rig.boot();
  void operation.begin(rig);
  await rig.turn();
  return rig;
}

async function run(operation, steps) {
  const rig = await prepared(operation);
  const count = countdown(steps);
  await rig.boot(count.mayPass);
  rig.store.mayPass = count.mayPass;
  const token = rig.token();
  watch(operation.request(rig, token));
  await rig.turn(operation.takesMs ?? 40);
  rig.store.mayPass = () => true;
  return { rig, token, passed: count.passed() };
}

test.each(Object.entries(OPERATIONS))(
  '%s happens exactly once if control is killed at any step of it',
  async (_name, operation) => {
    const { passed } = await run(operation, 1_000);
    expect(passed).toBeGreaterThan(3);
    for (let step = 0; step <= passed; step++) {
      const { rig, token } = await run(operation, step);
      await rig.boot();
      const again = watch(operation.request(rig, token));
      await rig.turn(2_000);
      expect([step, again.state, again.error]).toEqual([step, 'done', null]);
      expect([step, rig.running()]).toEqual([step, operation.running]);
      expect([step, rig.keeper.alive.length]).toEqual([step, operation.running.length]);
      expect([step, rig.spawned().length]).toEqual([step, operation.spawns]);
      expect([step, rig.events.filter(({ event }) => event === 'impossible')]).toEqual([step, []]);
      expect([step, [...rig.keeper.children.values()].filter((child) => child.exit)]).toEqual([step, []]);
    }
  },
);

const serving = (rig) =>
  rig.keeper.alive.filter(
    (child) => child.addresses.length > 0 && !child.isGated && !child.isParked && !child.isRetiring,
  );
const isBad = ({ env }) => env.V === '2';

/** Each reload must have the same outcome if control is killed at any step. */
const RELOADS = {
  'to good code': { behave: () => ({ listensAfterMs: 10 }), error: null, versions: ['2', '2', '2'] },
  'to code that crashes': {
    behave: (params) => (isBad(params) ? { exitsAfterMs: 5, code: 1 } : { listensAfterMs: 10 }),
    error: 'ERR_NCLUST_RELOAD_FAILED',
    versions: ['1', '1', '1'],
  },
  'to code that never listens': {
    behave: (params) => (isBad(params) ? {} : { listensAfterMs: 10 }),
    error: 'ERR_NCLUST_RELOAD_FAILED',
    versions: ['1', '1', '1'],
  },
  'to code that fails in the third instance': {
    behave: (params) =>
      isBad(params) && params.label.slot === 2 ? { exitsAfterMs: 5, code: 1 } : { listensAfterMs: 10 },
    error: 'ERR_NCLUST_RELOAD_FAILED',
    versions: ['2', '2', '1'],
  },
  'with a rollback window': {
    spec: { rollbackWindowMs: 500 },
    behave: () => ({ listensAfterMs: 10 }),
    error: null,
    versions: ['2', '2', '2'],
  },
  'to code that crashes inside the rollback window': {
    spec: { rollbackWindowMs: 9_000 },
    behave: (params) =>
      isBad(params) && params.label.slot === 1
        ? { listensAfterMs: 10, exitsAfterMs: 600, code: 1 }
        : { listensAfterMs: 10 },
    error: 'ERR_NCLUST_ROLLED_BACK',
    versions: ['1', '1', '1'],
    fewest: 2,
  },
};

async function reloadUntil(scene, steps) {
  const rig = createRig();
  await rig.boot();
  void rig.start({ instances: 3, minUptimeMs: 100, listenTimeoutMs: 300, env: { V: '1' } });
  await rig.turn();
  rig.keeper.behave = scene.behave;
  const seen = watchServing(rig);
  const count = countdown(steps);
  await rig.boot(count.mayPass);
  rig.store.mayPass = count.mayPass;
  const token = rig.token();
  const request = () => watch(rig.call('reload', { targets: ['api'], token, env: { V: '2' }, spec: scene.spec }));
  request();
  await rig.turn(2_000);
  rig.store.mayPass = () => true;
  return { rig, request, seen, passed: count.passed() };
}

/**
 * Counts the serving instances after each request of control. `fewest` is the smallest number.
 */
function watchServing(rig) {
  const seen = { fewest: Infinity };
  rig.keeper.onDone = () => {
    seen.fewest = Math.min(seen.fewest, serving(rig).length);
  };
  return seen;
}

test.each(Object.entries(RELOADS))(
  'a reload %s has the same outcome, and never too few instances, if control is killed at any step',
  async (_name, scene) => {
    const { passed } = await reloadUntil(scene, 1_000);
    expect(passed).toBeGreaterThan(5);
    for (let step = 0; step <= passed; step++) {
      const { rig, request, seen } = await reloadUntil(scene, step);
      await rig.boot();
      const again = request();
      await rig.turn(13_000);
      expect([step, again.state, again.error?.code ?? null]).toEqual([
        step,
        scene.error ? 'failed' : 'done',
        scene.error,
      ]);
      expect([
        step,
        serving(rig)
          .sort((a, b) => a.label.slot - b.label.slot)
          .map(({ env }) => env.V),
      ]).toEqual([step, scene.versions]);
      expect([step, rig.keeper.alive.length, rig.control.registry.seats.size]).toEqual([step, 3, 3]);
      expect([step, (await rig.list()).map(({ status }) => status)]).toEqual([step, Array(3).fill('online')]);
      expect([
        step,
        rig.control.registry.desired.apps[0].rollout.isGuarded,
        rig.control.registry.desired.apps[0].spec.env.V,
      ]).toEqual([step, false, scene.versions[0]]);
      expect([step, seen.fewest >= (scene.fewest ?? 3)]).toEqual([step, true]);
      expect([step, rig.events.filter(({ event }) => event === 'impossible' || event === 'keeper-refused')]).toEqual([
        step,
        [],
      ]);
    }
  },
);

test('a crash loop keeps its counters and pauses if control is killed at any step of it', async () => {
  for (let step = 0; step < 40; step++) {
    const rig = createRig();
    await rig.boot();
    rig.keeper.behave = () => ({ exitsAfterMs: 1, code: 1 });
    void rig.start({ maxRestarts: 6 }).catch(() => {});
    await rig.turn(250);
    await rig.boot(countdown(step).mayPass);
    await rig.turn(1_500);
    await rig.boot();
    await rig.turn(120_000);
    expect([step, rig.spawned().length]).toEqual([step, 7]);
    expect(await rig.list()).toMatchObject([{ status: 'errored', restarts: 6, unstableRestarts: 7 }]);
  }
});

test('finished work is not repeated if control is killed at any step of noticing it', async () => {
  for (let step = 0; step < 25; step++) {
    const rig = createRig();
    const count = countdown(step);
    rig.keeper.behave = () => ({ exitsAfterMs: 30, code: 0 });
    await rig.boot();
    void rig.start({ autorestart: false }, { token: 'once' }).catch(() => {});
    await rig.turn(20);
    await rig.boot(count.mayPass);
    rig.store.mayPass = count.mayPass;
    await rig.turn(100);
    rig.store.mayPass = () => true;
    await rig.boot();
    const again = watch(rig.start({ autorestart: false }, { token: 'once' }));
    await rig.turn();
    expect([step, rig.spawned().length, again.state]).toEqual([step, 1, 'done']);
    expect(await rig.list()).toMatchObject([{ status: 'stopped', restarts: 0 }]);
  }
});
