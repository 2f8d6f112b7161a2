import { beforeEach, describe, expect, test } from 'vitest';
import { managerEvent } from '../../../daemon/control/journal/manager-events.js';
import { asOrphans, createRig, watch } from './control-rig.js';

let rig;

beforeEach(async () => {
  rig = createRig();
  await rig.boot();
  void rig.start({ instances: 2, rollbackWindowMs: 30_000, env: { V: '1' } });
  await rig.turn(5_000);
});

const reload = () => watch(rig.call('reload', { targets: ['api'], env: { V: '2' } }));
const of = (version) => rig.keeper.alive.filter(({ env, isRetiring }) => env.V === version && !isRetiring);
const asked = (verb) => rig.keeper.requests.filter((request) => request.verb === verb).map(({ params }) => params);
const generations = async () => (await rig.list()).map(({ generation, status }) => [generation, status]);
async function live(ms, vitalsOf) {
  for (let left = ms; left > 0; left -= 500) {
    for (const child of rig.keeper.alive)
      if (rig.keeper.watched.get(child.instanceId) > 0) rig.keeper.tellVitals(child.instanceId, vitalsOf(child));
    await rig.turn(500);
  }
}
const healthy = () => ({ responses: 50 });

test('a reload parks old instances at cut-over, retires them after the window, and only then is done', async () => {
  const request = reload();
  await rig.turn(1_100);
  expect(of('1').map(({ isParked }) => isParked)).toEqual([true, true]);
  expect(of('2').map(({ isGated }) => isGated)).toEqual([false, false]);
  expect(await generations()).toEqual([
    [2, 'online'],
    [2, 'online'],
  ]);
  await live(29_500, healthy);
  expect([request.state, of('1').length, asked('retire').length]).toEqual(['pending', 2, 0]);
  await live(1_000, healthy);
  expect([request.state, rig.keeper.alive.map(({ env }) => env.V)]).toEqual(['done', ['2', '2']]);
  expect(rig.control.registry.desired.apps[0]).toMatchObject({
    previous: [],
    rollout: { isGuarded: false, failure: null },
  });
});

test('parked instances take the traffic back when the event loop of a new one stops inside the window', async () => {
  const request = reload();
  await rig.turn(5_000);
  expect(request.state).toBe('pending');
  of('2')[0].behaviour.isHung = true;
  await rig.turn(6_000);
  expect(request.state).toBe('failed');
  expect(request.error.message).toContain('has not answered for 3s');
  expect(of('1').map(({ isParked }) => isParked)).toEqual([false, false]);
});

test('only new instances are watched, and only during the window of a reload', async () => {
  expect(rig.keeper.watched.size).toBe(0);
  const request = reload();
  await rig.turn(500);
  expect([...rig.keeper.watched.values()]).toEqual([500, 500]);
  await rig.turn(600);
  expect(
    [...rig.keeper.watched.entries()]
      .filter(([, everyMs]) => everyMs > 0)
      .map(([id]) => rig.keeper.children.get(id).env.V),
  ).toEqual(['2', '2']);
  await live(31_000, healthy);
  expect(request.state).toBe('done');
  expect(rig.keeper.alive.map(({ instanceId }) => rig.keeper.watched.get(instanceId))).toEqual([0, 0]);
  expect(rig.control.registry.samples.size).toBe(0);
});

test('parked instances take the traffic back and new ones go when a new one crashes inside the window', async () => {
  const pids = rig.keeper.alive.map(({ pid }) => pid);
  const request = reload();
  await rig.turn(5_000);
  rig.lastLines = ['boom'];
  const order = rig.keeper.requests.length;
  rig.keeper.exit(of('2')[1].instanceId, { code: 9 });
  await rig.turn(100);
  expect(rig.keeper.alive.map(({ pid }) => pid)).toEqual(pids);
  expect(rig.spawned()).toHaveLength(4); // No new instance replaces the crashed one.
  expect(rig.keeper.alive.every(({ isParked }) => !isParked)).toBe(true);
  expect(
    rig.keeper.requests
      .slice(order)
      .map(({ verb }) => verb)
      .filter((verb) => verb === 'unpark' || verb === 'retire')
      .slice(0, 2),
  ).toEqual(['unpark', 'unpark']);
  expect(request.error).toMatchObject({
    code: 'ERR_NCLUST_ROLLED_BACK',
    exitStatus: 1,
    data: {
      slots: [{ slot: 1, lastLines: ['boom'] }],
      running: [
        { slot: 0, generation: 1 },
        { slot: 1, generation: 1 },
      ],
    },
  });
  expect(request.error.message).toContain(
    'instance 1 exited with code 9 after 4s, "boom". The 2 old instances are serving again.',
  );
  expect(await generations()).toEqual([
    [1, 'online'],
    [1, 'online'],
  ]);
  expect(rig.control.registry.desired.apps[0].spec.env.V).toBe('1');
  // The event log has the rollback once, and no event reports that the reload succeeded.
  const ends = rig.events
    .flatMap(({ event, ...fields }) => managerEvent(event, fields) ?? [])
    .filter(({ type }) => /^rollout:(done|halted|rolled-back)$/.test(type));
  expect(ends).toEqual([
    {
      type: 'rollout:rolled-back',
      app: 'api',
      generation: 2,
      by: 'reload',
      reason: 'instance 1 exited with code 9 after 4s',
      words: 'boom',
    },
  ]);
  // Until the next reload, the list shows the rollback to a user who did not wait for the reload.
  expect((await rig.call('list')).notices).toEqual([
    expect.stringMatching(/^The reload of "api" to generation \d+ was rolled back: instance 1 exited with code 9/),
  ]);
  rig.keeper.behave = () => ({ listensAfterMs: 10 });
  reload();
  await rig.turn(100);
  expect((await rig.call('list')).notices).toEqual([]);
});

test.each([
  ['errors, when the old ones had none', { responses: 50 }, { responses: 4, errors: 1 }, true],
  ['errors, when the old ones had nearly as many', { responses: 50, errors: 5 }, { responses: 10, errors: 2 }, false],
  ['errors, when too little is known of the old ones', { responses: 2 }, { responses: 10, errors: 3 }, false],
  [
    'errors in most responses, when too little is known of the old ones',
    { responses: 2 },
    { responses: 10, errors: 8 },
    true,
  ],
  [
    'nothing but errors, when the old ones had many',
    { responses: 50, errors: 25 },
    { responses: 50, errors: 50 },
    true,
  ],
  ['a few errors', { responses: 50 }, { responses: 50, errors: 2 }, false],
  ['errors in too few responses', { responses: 50 }, { responses: 0, errors: 0 }, false],
  ['an event loop that is held up', { responses: 50, delayP99Ms: 10 }, { responses: 50, delayP99Ms: 250 }, true],
  [
    'an event loop that was no better before',
    { responses: 50, delayP99Ms: 100 },
    { responses: 50, delayP99Ms: 250 },
    false,
  ],
])('the window judges new instances with %s', async (_what, before, after, isBad) => {
  const request = reload();
  await live(1_500, ({ env }) => (env.V === '1' ? before : healthy()));
  await live(6_000, ({ env }) => (env.V === '1' ? before : after));
  expect(request.state).toBe(isBad ? 'failed' : 'pending');
  if (isBad) expect(request.error.code).toBe('ERR_NCLUST_ROLLED_BACK');
  expect(await generations()).toEqual(Array(2).fill([isBad ? 1 : 2, 'online']));
});

test('a trip while old instances are still being replaced rolls all of it back', async () => {
  rig.keeper.behave = ({ env, label }) => ({ listensAfterMs: env.V === '2' && label.slot === 1 ? 8_000 : 10 });
  const request = reload();
  await live(1_500, healthy);
  expect(of('1').map(({ isParked }) => isParked)).toEqual([true, false]);
  await live(2_000, ({ env }) => (env.V === '1' ? healthy() : { responses: 50, errors: 25 }));
  expect(request.error).toMatchObject({ code: 'ERR_NCLUST_ROLLED_BACK' });
  expect(request.error.message).toMatch(/\d+ of their last \d+ requests/);
  expect([of('1').length, of('2').length, of('1').some(({ isParked }) => isParked)]).toEqual([2, 0, false]);
});

test('a failed canary is not a rollback, because nothing had been replaced', async () => {
  rig.keeper.behave = () => ({ exitsAfterMs: 5, code: 1 });
  const request = reload();
  await rig.turn(1_000);
  expect(request.error.code).toBe('ERR_NCLUST_RELOAD_FAILED');
  expect(asked('park')).toEqual([]);
});

test('a rollback restarts a parked instance that has died, and the new one serves until it is up', async () => {
  const request = reload();
  await rig.turn(3_000);
  rig.keeper.exit(of('1')[0].instanceId, { signal: 'SIGKILL' });
  await rig.turn(100);
  expect([of('1').length, of('2').length]).toEqual([1, 2]);
  rig.keeper.behave = () => ({ listensAfterMs: 300 });
  rig.keeper.exit(of('2')[1].instanceId, { code: 1 });
  await rig.turn(200);
  expect([of('2').length, request.state]).toEqual([1, 'pending']);
  await rig.turn(200);
  expect([of('1').length, of('2').length, request.state]).toEqual([2, 0, 'failed']);
});

test('the next control continues the window, and closes it in time', async () => {
  const request = reload();
  await rig.turn(10_000);
  await rig.boot();
  await rig.turn(100);
  expect(of('1').map(({ isParked }) => isParked)).toEqual([true, true]);
  expect(of('2').map(({ instanceId }) => rig.keeper.watched.get(instanceId))).toEqual([500, 500]);
  await rig.turn(20_500);
  expect(of('1').length).toBe(2);
  await rig.turn(500);
  expect([of('1').length, request.state, await generations()]).toEqual([
    0,
    'pending',
    [
      [2, 'online'],
      [2, 'online'],
    ],
  ]);
});

test('the next control finishes a rollback that the last one could not', async () => {
  reload();
  await rig.turn(5_000);
  rig.control.close();
  rig.keeper.connect();
  rig.keeper.exit(of('2')[0].instanceId, { code: 1 });
  await rig.boot();
  await rig.turn(100);
  expect([of('1').length, of('2').length, of('1').some(({ isParked }) => isParked)]).toEqual([2, 0, false]);
});

test('a second reload closes the window: parked instances stop, serving ones become the old ones', async () => {
  const first = reload();
  await rig.turn(5_000);
  const second = watch(rig.call('reload', { targets: ['api'], env: { V: '3' }, spec: { rollbackWindowMs: 0 } }));
  await rig.turn(50);
  expect([of('1').length, of('2').length]).toEqual([0, 2]);
  await rig.turn(2_000);
  expect([first.state, second.state, of('3').length, rig.keeper.alive.length]).toEqual(['done', 'done', 2, 2]);
});

test.each(['stop', 'delete', 'restart'])('%s during the window ends parked instances', async (method) => {
  reload();
  await rig.turn(5_000);
  const request = watch(rig.call(method, { targets: ['api'] }));
  await rig.turn(1_000);
  expect([request.state, rig.keeper.alive.filter(({ isParked }) => isParked).length, rig.keeper.alive.length]).toEqual([
    'done',
    0,
    method === 'restart' ? 2 : 0,
  ]);
});

test('all parked instances that have died are restarted at once', async () => {
  reload();
  await rig.turn(3_000);
  for (const { instanceId } of of('1')) rig.keeper.exit(instanceId, { signal: 'SIGKILL' });
  await rig.turn(100);
  rig.keeper.behave = () => ({ listensAfterMs: 800 });
  const before = rig.spawned().length;
  await live(500, ({ env }) => (env.V === '1' ? healthy() : { responses: 50, errors: 50 }));
  expect([rig.spawned().length, of('2').length]).toEqual([before + 2, 2]);
  await rig.turn(500);
  expect([of('1').length, of('2').length]).toEqual([2, 0]);
});

test('the window does not become longer when the wall clock is set back', async () => {
  const request = reload();
  await rig.turn(5_000);
  rig.clock.setBack(3_600_000);
  await rig.boot();
  await rig.turn(30_500);
  expect([request.state, of('1').length]).toEqual(['pending', 0]);
});

test('reports of an unwatched instance are ignored', async () => {
  const [{ instanceId }] = rig.keeper.alive;
  rig.keeper.watched.set(instanceId, 500);
  rig.keeper.tellVitals(instanceId, { responses: 1 });
  await rig.turn(10);
  expect(rig.keeper.watched.get(instanceId)).toBe(0);
});

test('errors older than five seconds are ignored', async () => {
  const request = reload();
  await live(2_000, ({ env }) => (env.V === '1' ? healthy() : { responses: 0 }));
  await live(500, ({ env }) => (env.V === '1' ? healthy() : { responses: 9, errors: 9 }));
  await live(5_500, () => ({ responses: 0 }));
  await live(1_000, () => ({ responses: 10 }));
  expect(request.state).toBe('pending');
});

describe('a rollback restarts parked instances that have died, and the message reports it', () => {
  const kill = (children) => children.forEach(({ instanceId }) => rig.keeper.exit(instanceId, { signal: 'SIGKILL' }));

  test.each([
    ['all of it', 2, 'The 2 old instances had exited and were started again.'],
    ['some of it', 1, '1 of the 2 old instances is serving again, 1 had exited and was started again.'],
    ['none of it', 0, 'The 2 old instances are serving again.'],
  ])('a rollback restarts parked instances that have died, and reports it: %s', async (_what, dead, message) => {
    const request = reload();
    await rig.turn(3_000);
    kill(of('1').slice(0, dead));
    await rig.turn(100);
    rig.keeper.exit(of('2')[1].instanceId, { code: 9 });
    await rig.turn(1_000);
    expect(request.error.message).toBe(
      `Reload of "api" was rolled back: instance 1 exited with code 9 after 2.1s. ${message}`,
    );
    expect([of('1').length, of('2').length]).toEqual([2, 0]);
  });

  test('the message of a rollback names a parked instance that does not come up', async () => {
    const request = reload();
    await rig.turn(3_000);
    kill(of('1').slice(0, 1));
    rig.keeper.behave = () => ({ exitsAfterMs: 5, code: 1 });
    rig.keeper.exit(of('2')[1].instanceId, { code: 9 });
    await rig.turn(1_000);
    // The new instance serves until the old instance is up.
    expect(request.error.message).toContain('Instance 0 runs the new code, Instance 1 runs the old.');
    rig.keeper.exit(of('2')[0].instanceId, { code: 9 });
    await rig.turn(100);
    const second = watch(rig.call('reload', { targets: ['api'], env: { V: '3' } }));
    await rig.turn(1_000);
    expect(second.error.message).toContain('The old instance is still serving. Instance 0 is not up.');
  });
});

describe('if the keeper dies during the window', () => {
  /** Kills the keeper. Its processes continue to run, and the next keeper adopts them. */
  async function loseKeeper(behave) {
    rig.orphans = asOrphans(rig.keeper.alive);
    rig.behaveNext = behave;
    rig.keeper.die();
    await rig.turn(100);
  }

  const orphans = () => rig.keeper.alive.filter(({ isAdopted, isRetiring }) => isAdopted && !isRetiring).length;

  test('the parked instances are gone for good, and the new ones are replaced with their own window', async () => {
    const request = reload();
    await rig.turn(5_000);
    const parked = of('1').map(({ instanceId }) => instanceId);
    await loseKeeper(() => ({ listensAfterMs: 10 }));
    expect(asked('retire')).toEqual(
      parked.map((instanceId) => expect.objectContaining({ instanceId, drain: 'handover' })),
    );
    expect([orphans(), of('2').length, asked('unpark')]).toEqual([2, 1, []]);
    await rig.turn(30_000);
    expect(request.state).toBe('pending');
    await rig.turn(2_000);
    expect([request.state, rig.keeper.alive.map(({ env }) => env.V)]).toEqual(['done', ['2', '2']]);
    expect((await rig.call('list')).notices).toEqual([]);
  });

  test.each([
    ['crash', { listensAfterMs: 10, exitsAfterMs: 3_000, code: 7 }, 'exited with code 7 after 3s'],
    ['do not get up', { exitsAfterMs: 5, code: 7 }, 'exited with code 7 after 5ms'],
  ])(
    'the reload is rolled back by a new start of the old code if the replacements %s',
    async (_what, behaviour, reason) => {
      const request = reload();
      await rig.turn(5_000);
      await loseKeeper(({ env }) => (env.V === '2' ? behaviour : { listensAfterMs: 10 }));
      await rig.turn(8_000);
      expect(request.error).toMatchObject({ code: 'ERR_NCLUST_ROLLED_BACK', exitStatus: 1 });
      expect(request.error.message).toBe(
        `Reload of "api" was rolled back: instance 0 ${reason}. The 2 old instances had exited and were started again.`,
      );
      expect(rig.keeper.alive.map(({ env, isAdopted }) => [env.V, isAdopted])).toEqual([
        ['1', false],
        ['1', false],
      ]);
      expect((await rig.call('list')).notices).toEqual([expect.stringContaining('was rolled back')]);
      expect(rig.control.registry.desired.apps[0]).toMatchObject({
        spec: { env: { V: '1' } },
        previous: [],
        rollout: { isGuarded: false },
      });
      expect(rig.events.filter(({ event }) => event === 'impossible')).toEqual([]);
    },
  );

  test('the serving instances continue if no old instance comes up', async () => {
    const request = reload();
    await rig.turn(5_000);
    await loseKeeper(() => ({ exitsAfterMs: 5, code: 7 }));
    await rig.turn(8_000);
    expect([request.error.code, orphans()]).toEqual(['ERR_NCLUST_ROLLED_BACK', 2]);
    expect(request.error.message).toContain('Instances 0, 1 run the new code.');
  });
});

describe('nclust rollback', () => {
  const rollback = () => watch(rig.call('rollback', { targets: ['api'] }));

  test('the parked instances serve again at once, the new ones leave, and the reload names the reason', async () => {
    const request = reload();
    await rig.turn(5_000);
    const old = of('1');
    const back = rollback();
    await rig.turn(2_000);
    expect(back.state).toBe('done');
    expect(request.error).toMatchObject({
      code: 'ERR_NCLUST_ROLLED_BACK',
      message: expect.stringContaining('was rolled back: nclust rollback was called'),
    });
    expect(rig.keeper.alive.map(({ instanceId, isParked }) => [instanceId, isParked])).toEqual(
      old.map(({ instanceId }) => [instanceId, false]),
    );
  });

  test('a reload that has replaced only some instances can be rolled back', async () => {
    const { behave } = rig.keeper;
    rig.keeper.behave = (child) => ({ ...behave(child), ...(child.label.slot === 1 ? { bootsAfterMs: 60_000 } : {}) });
    reload();
    await rig.turn(3_000);
    expect(of('2')).toHaveLength(2);
    const back = rollback();
    await rig.turn(2_000);
    expect([back.state, of('1').length, of('2').length]).toEqual(['done', 2, 0]);
  });

  test('nclust rollback changes nothing if no window is open', async () => {
    const before = rig.control.registry.desired;
    await expect(rig.call('rollback', { targets: ['api'] })).rejects.toMatchObject({
      code: 'ERR_NCLUST_NO_ROLLBACK',
      hint: expect.stringMatching(/^Put the old code back, then: nclust reload api\..*<environment> revert$/),
    });
    expect(rig.control.registry.desired).toBe(before);
  });

  test('a repeated request is answered like the first one', async () => {
    reload();
    await rig.turn(5_000);
    const token = 'again';
    await Promise.all([rig.call('rollback', { targets: ['api'], token }), rig.turn(2_000)]);
    await Promise.all([rig.call('rollback', { targets: ['api'], token }), rig.turn(100)]);
    expect(rig.events.filter(({ event }) => event === 'rollout-rolled-back')).toHaveLength(1);
  });

  test('an instance that was added in the window and one that was stopped before are rolled back, too', async () => {
    void rig.call('stop', { targets: ['1'] });
    await rig.turn(2_000);
    reload();
    await rig.turn(5_000);
    void rig.call('scale', { target: 'api', instances: '3' });
    await rig.turn(1_000);
    const back = rollback();
    await rig.turn(3_000);
    expect([back.state, of('1').length, of('2').length]).toEqual(['done', 2, 0]);
    expect(rig.wanted()).toEqual(['api/0', 'api/2']);
  });

  test('all takes the apps that have an open window', async () => {
    void rig.start({ name: 'other' });
    await rig.turn(5_000);
    reload();
    await rig.turn(5_000);
    const back = watch(rig.call('rollback', { targets: ['all'] }));
    await rig.turn(2_000);
    expect(back.result.slots.map(({ name }) => name)).toEqual(['api', 'api']);
  });

  test('a change that cannot be saved is not logged', async () => {
    reload();
    await rig.turn(5_000);
    rig.store.isFull = true;
    await expect(rig.call('rollback', { targets: ['api'] })).rejects.toThrow('full');
    expect(rig.events.filter(({ event }) => event === 'rollout-rolled-back')).toEqual([]);
  });
});
