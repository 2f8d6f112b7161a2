import { beforeEach, describe, expect, test } from 'vitest';
import { createRig, watch } from './control-rig.js';

let rig;

beforeEach(async () => {
  rig = createRig();
  await rig.boot();
});

const statuses = async () => (await rig.list()).map(({ status }) => status);
const living = () => rig.keeper.alive.map(({ instanceId }) => instanceId);
const asked = (verb) => rig.keeper.requests.filter((request) => request.verb === verb);

function loadingFor(bootsAfterMs, more = {}) {
  rig.keeper.behave = () => ({ bootsAfterMs, ...more });
}

describe('a Node.js program that loads for longer than minUptime', () => {
  test('a program that loads long is up when it has lived for minUptime since it was loaded', async () => {
    loadingFor(2_500);
    const request = watch(rig.start({}));
    await rig.turn(3_499);
    expect([request.state, await statuses()]).toEqual(['pending', ['launching']]);
    await rig.turn(1);
    expect([request.state, await statuses()]).toEqual(['done', ['online']]);
  });

  test('a program that loads long is up at once if it listens before it was loaded', async () => {
    loadingFor(6_000, { listensAfterMs: 2_000 });
    const request = watch(rig.start({}));
    await rig.turn(1_999);
    expect(request.state).toBe('pending');
    await rig.turn(1);
    expect(request.state).toBe('done');
  });

  test.each([
    [10_000, {}],
    [2_000, { listenTimeoutMs: 2_000 }],
    [15_000, { minUptimeMs: 15_000 }],
  ])('a program that loads for ever is up at its deadline (%i ms) if its loop responds', async (afterMs, fields) => {
    loadingFor(Infinity);
    const request = watch(rig.start(fields));
    await rig.turn(afterMs - 1);
    expect(request.state).toBe('pending');
    await rig.turn(1);
    expect([request.state, await statuses()]).toEqual(['done', ['online']]);
  });

  test('a program whose event loop does not respond is late, and the message names what is missing', async () => {
    loadingFor(Infinity, { isHung: true });
    const request = watch(rig.start({ listenTimeoutMs: 4_000 }));
    await rig.turn(4_999);
    expect(request.state).toBe('pending');
    await rig.turn(20);
    expect(request.error.message + JSON.stringify(request.error.data)).toContain(
      'it was still loading its main module',
    );
    expect((await rig.list())[0]).toMatchObject({ status: 'waiting restart', lastDeath: { cause: 'boot-timeout' } });
  });

  test('a program that loads long and has to listen is late at listenTimeout, and the reason is named', async () => {
    rig.keeper.behave = () => ({ listensAfterMs: 100 });
    void rig.start({});
    await rig.turn(2_000);
    loadingFor(Infinity);
    const request = watch(rig.call('reload', { targets: ['api'] }));
    await rig.turn(9_999);
    expect(request.state).toBe('pending');
    await rig.turn(20);
    expect(request.error.message + JSON.stringify(request.error.data)).toContain(
      'it was still loading its main module',
    );
    expect(await statuses()).toEqual(['online']);
  });

  const doing = (activity) => {
    rig.activity = () => ({ cpuMs: 0, ioBytes: 0, isListening: false, ...activity(rig.clock.nowMs()) });
  };
  const begunAtMs = () => rig.keeper.alive[0]?.startedAtMs ?? 0;

  test.each([
    ['computes', { cpuMs: 1 }],
    ['gets a tenth of a core', { cpuMs: 0.1 }],
    ['reads files', { ioBytes: 50_000 }],
  ])('a program that loads for 40 s, and %s, is not a failed start', async (_what, perMs) => {
    loadingFor(40_000, { listensAfterMs: 40_000 });
    doing((nowMs) => Object.fromEntries(Object.entries(perMs).map(([key, rate]) => [key, nowMs * rate])));
    const request = watch(rig.start({ instances: 2 }, { progress: true }));
    await rig.turn(39_000);
    expect([request.state, await statuses()]).toEqual(['pending', ['launching', 'launching']]);
    const late = rig.published.filter(({ waiting }) => waiting.every(({ phase }) => phase === 'loading'));
    expect(late[0].waiting.map(({ forMs }) => Math.round(forMs / 1_000))).toEqual([10, 10]);
    expect((await rig.list())[0].waitingFor).toMatch(/uses the CPU or files, 26\d\.\ds left/);
    await rig.turn(1_000);
    expect(request.state).toBe('done');
    expect(await rig.list()).toMatchObject([{ restarts: 0, lastDeath: null }, { restarts: 0 }]);
    expect(rig.spawned()).toHaveLength(2);
  });

  test.each([
    ['waits', () => ({}), 10_000],
    ['waits, and retries now and then', (nowMs) => ({ cpuMs: nowMs * 0.03, ioBytes: nowMs * 2 }), 10_000],
    ['cannot be measured', null, 10_000],
    ['computes for 21 s, then waits', (nowMs) => ({ cpuMs: Math.min(nowMs - begunAtMs(), 21_000) }), 28_000],
    ['computes for ever', (nowMs) => ({ cpuMs: nowMs }), 300_000],
  ])('a program that loads long, and %s, ends', async (_what, activity, endsAtMs) => {
    loadingFor(3_600_000);
    if (activity) doing(activity);
    else rig.activity = () => null;
    const request = watch(rig.start({}));
    await rig.turn(endsAtMs - 1);
    expect(request.state).toBe('pending');
    await rig.turn(7_000);
    expect(request.error.message).toContain('it was still loading its main module');
  });

  test('a program that makes progress in a reload keeps the old instances until it listens', async () => {
    rig.keeper.behave = () => ({ listensAfterMs: 100 });
    void rig.start({ instances: 2 });
    await rig.turn(2_000);
    const old = living();
    loadingFor(0, { listensAfterMs: 30_000 });
    doing((nowMs) => ({ cpuMs: nowMs }));
    const request = watch(rig.call('reload', { targets: ['api'] }));
    await rig.turn(29_000);
    expect([request.state, living().slice(0, 2)]).toEqual(['pending', old]);
    await rig.turn(40_000);
    expect([request.state, await statuses()]).toEqual(['done', ['online', 'online']]);
  });

  test('a program that listens elsewhere in a reload gets no more time', async () => {
    rig.keeper.behave = () => ({ listensAfterMs: 100 });
    void rig.start({});
    await rig.turn(2_000);
    rig.keeper.behave = () => ({ listensAfterMs: 100, ports: [4000] });
    doing((nowMs) => ({ cpuMs: nowMs }));
    const request = watch(rig.call('reload', { targets: ['api'] }));
    await rig.turn(10_020);
    expect(request.error.message).toContain('it did not listen on [::]:3000, but on [::]:4000');
  });

  test('a program that loads long goes on loading if control is replaced after its deadline', async () => {
    loadingFor(25_000, { listensAfterMs: 25_000 });
    doing((nowMs) => ({ cpuMs: nowMs }));
    void rig.start({}).catch(() => {});
    await rig.turn(15_000);
    await rig.boot();
    await rig.turn(10_000);
    expect([await statuses(), rig.spawned().length]).toEqual([['online'], 1]);
  });

  test('a program with waitReady is up when it sends "ready", loaded or not', async () => {
    loadingFor(Infinity, { readyAfterMs: 50 });
    const request = watch(rig.start({ waitReady: true }));
    await rig.turn(50);
    expect(request.state).toBe('done');
  });

  test.each([
    ['--inspect-brk=0', { interpreterArgs: ['--inspect-brk=0'] }],
    ['--watch', { interpreterArgs: ['--no-warnings', '--watch'] }],
    ['--inspect-wait', { env: { NODE_OPTIONS: '--no-warnings --inspect-wait' } }],
  ])(
    'a program that waits for a debugger, or is loaded in another process (%s), is up at the age of minUptime',
    async (_what, fields) => {
      loadingFor(Infinity);
      const request = watch(rig.start(fields));
      await rig.turn(1_000);
      expect(request.state).toBe('done');
    },
  );

  test('a program that throws after loading for 1.5 s is a failed start, with a pause before the next', async () => {
    loadingFor(Infinity, { exitsAfterMs: 1_500, code: 1 });
    const request = watch(rig.start({}));
    await rig.turn(1_500);
    expect([request.state, await statuses()]).toEqual(['failed', ['waiting restart']]);
    expect((await rig.list())[0].unstableRestarts).toBe(1);
  });

  test('a program that exits while it loads has not been up', async () => {
    loadingFor(6_000, { exitsAfterMs: 2_000, code: 0 });
    const request = watch(rig.start({}));
    await rig.turn(2_000);
    expect([request.state, await statuses()]).toEqual(['failed', ['waiting restart']]);
  });
});

test('the age counts from the start if the keeper does not know when a program has booted', async () => {
  rig.keeper.knowsBoots = false;
  loadingFor(5_000);
  const request = watch(rig.start({}));
  await rig.turn(1_000);
  expect(request.state).toBe('done');
  await rig.boot();
  await rig.turn(1);
  expect(await statuses()).toEqual(['online']);
});

describe('when control is replaced', () => {
  test.each([
    ['while a program loads', 500],
    ['after it has been loaded', 2_500],
  ])('the age counts from the end of loading if control is replaced %s', async (_when, atMs) => {
    loadingFor(2_000);
    void rig.start({}).catch(() => {});
    await rig.turn(atMs);
    await rig.boot();
    await rig.turn(2_999 - atMs);
    expect(await statuses()).toEqual(['launching']);
    await rig.turn(1);
    expect(await statuses()).toEqual(['online']);
    expect(rig.spawned()).toHaveLength(1);
  });

  test('a program that exited without having been loaded was not up', async () => {
    loadingFor(Infinity, { exitsAfterMs: 4_000, code: 1, goneAfterMs: 100_000 });
    void rig.start({ maxRestarts: 0 }).catch(() => {});
    await rig.turn(100);
    rig.control.close();
    await rig.turn(4_000);
    await rig.boot();
    expect((await rig.list())[0]).toMatchObject({ status: 'errored', lastDeath: { wasReady: false } });
  });
});

describe('no old instance exits while a new one loads', () => {
  async function running(fields = {}) {
    rig.keeper.behave = () => ({});
    void rig.start({ instances: 4, ...fields });
    await rig.turn(5_000);
    return living();
  }

  test('a reload ends no old instance while a new one loads, and its canary then lives for minUptime', async () => {
    const old = await running();
    loadingFor(2_900);
    const request = watch(rig.call('reload', { targets: ['api'] }));
    await rig.turn(3_899);
    expect(living()).toEqual([...old, 'i0-4']);
    expect(asked('retire')).toEqual([]);
    await rig.turn(30_000);
    expect(request.state).toBe('done');
  });

  test('a restart takes only half of the old instances at a time while new ones load', async () => {
    const old = await running();
    loadingFor(2_900);
    const request = watch(rig.call('restart', { targets: ['api'] }));
    await rig.turn(3_800);
    expect(living().filter((id) => old.includes(id))).toHaveLength(2);
    await rig.turn(10_000);
    expect(request.state).toBe('done');
  });
});

test('the canary of a reload has to live for minUptime after it started to listen', async () => {
  rig.keeper.behave = () => ({ bootsAfterMs: 700, listensAfterMs: 600 });
  void rig.start({});
  await rig.turn(5_000);
  const request = watch(rig.call('reload', { targets: ['api'] }));
  await rig.turn(1_599);
  expect(asked('admit')).toEqual([]);
  await rig.turn(20);
  expect([asked('admit').length, request.state]).toEqual([1, 'done']);
});
