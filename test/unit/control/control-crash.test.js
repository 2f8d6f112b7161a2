import { expect, test } from 'vitest';
import { createRig, watch } from './control-rig.js';

// Control is killed at every step of an operation: before each message to the keeper, and before each write of the state. The client sends its request
// again, with the same token, to the next control.

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

/** One more step, if control is still alive at it. */
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
  await rig.turn(40);
  rig.store.mayPass = () => true;
  return { rig, token, passed: count.passed() };
}

test.each(Object.entries(OPERATIONS))('%s comes about exactly once when control is killed at any step of it', async (_name, operation) => {
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
});

test('a crash loop keeps its counters and its pauses when control is killed at every step of it', async () => {
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

test('work that is done is not done again when control is killed at any step of noticing it', async () => {
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
