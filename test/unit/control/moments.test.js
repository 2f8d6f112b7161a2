import { beforeEach, describe, expect, test } from 'vitest';
import { createRig, watch } from './control-rig.js';

let rig;

beforeEach(async () => {
  rig = createRig();
  await rig.boot();
});

const first = async () => (await rig.list())[0];
const living = () => rig.keeper.alive[0].instanceId;
const deadlineOf = async () => (await first()).waitingUntilMs;

describe('the moment since which an instance is online', () => {
  test('an app that loads for 14 s is online since it was ready, not since its start', async () => {
    rig.activity = () => ({ cpuMs: rig.clock.nowMs(), ioBytes: 0, isListening: false });
    rig.keeper.behave = () => ({ bootsAfterMs: 14_000, listensAfterMs: 14_000 });
    const beganMs = rig.clock.nowMs();
    void rig.start({});
    await rig.turn(13_999);
    expect(await first()).toMatchObject({ status: 'launching', startedAtMs: beganMs, onlineSinceMs: null });
    await rig.turn(1);
    const online = { status: 'online', startedAtMs: beganMs, onlineSinceMs: beganMs + 14_000 };
    expect(await first()).toMatchObject(online);
    await rig.turn(5_000);
    await rig.boot();
    expect(await first()).toMatchObject(online);
  });

  test.each([
    ['lives for min_uptime', {}, {}, 1_000],
    ['sends "ready"', { listensAfterMs: 10, readyAfterMs: 2_500 }, { waitReady: true }, 2_500],
  ])('an instance that %s is online since that moment, also for the next control', async (_what, does, spec, ms) => {
    rig.keeper.behave = () => does;
    const beganMs = rig.clock.nowMs();
    void rig.start(spec);
    await rig.turn(5_000);
    await rig.boot();
    await rig.turn(1_000);
    expect(await first()).toMatchObject({ status: 'online', onlineSinceMs: beganMs + ms });
  });

  test('a cluster worker whose listen() fails after it was up is online since its next success', async () => {
    rig.keeper.behave = () => ({});
    void rig.start({ mode: 'cluster' });
    await rig.turn(1_500);
    const { instanceId } = rig.keeper.alive[0];
    const failure = { address: null, port: 80, family: 6, code: 'EINVAL', app: null };
    rig.control.dispatch({ type: 'keeper-event', event: 'listen-failed', data: { instanceId, ...failure } });
    await rig.turn(100);
    expect(await first()).toMatchObject({ status: 'launching', onlineSinceMs: null });
    rig.keeper.listen(instanceId, 80);
    await rig.turn(10);
    expect(await first()).toMatchObject({ status: 'online', onlineSinceMs: rig.clock.nowMs() - 10 });
  });

  test('an instance that got ready while no control ran is online since it listened', async () => {
    rig.keeper.behave = () => ({ bootsAfterMs: 3_000, listensAfterMs: 3_000 });
    const beganMs = rig.clock.nowMs();
    void rig.start({});
    await rig.turn(1_000);
    rig.control.close();
    await rig.turn(9_000);
    await rig.boot();
    expect(await first()).toMatchObject({ status: 'online', onlineSinceMs: beganMs + 3_000 });
  });

  test('an instance with wait_ready that got ready without control is online since control knows it', async () => {
    rig.keeper.behave = () => ({ listensAfterMs: 100, readyAfterMs: 3_000 });
    void rig.start({ waitReady: true });
    await rig.turn(1_000);
    rig.control.close();
    await rig.turn(9_000);
    await rig.boot();
    expect(await first()).toMatchObject({ status: 'online', onlineSinceMs: rig.clock.nowMs() });
  });
});

describe('a deadline', () => {
  test('SIGKILL follows at one moment, in the list, in progress lines, and for the next control', async () => {
    rig.keeper.behave = () => ({ listensAfterMs: 10, stopsAfterMs: 60_000 });
    void rig.start({ killTimeoutMs: 8_000 });
    await rig.turn(1_000);
    const killAtMs = rig.clock.nowMs() + 8_000;
    watch(rig.call('stop', { targets: ['api'], progress: true }));
    await rig.turn(2_000);
    expect(await first()).toMatchObject({
      status: 'stopping',
      waitingUntilMs: killAtMs,
      waitingFor: 'its last process to exit; SIGKILL in 6.0s',
    });
    expect(rig.published.at(-1).waiting).toMatchObject([{ phase: 'draining', untilMs: killAtMs }]);
    await rig.boot();
    await rig.turn(1_000);
    expect(await first()).toMatchObject({ waitingUntilMs: killAtMs, waitingFor: expect.stringContaining('in 5.0s') });
    watch(rig.call('stop', { targets: ['api'], progress: true }));
    await rig.turn(0);
    expect(rig.published.at(-1).waiting).toMatchObject([{ forMs: 3_000, untilMs: killAtMs, leftMs: 5_000 }]);
    await rig.turn(10_000);
    expect((await first()).waitingFor).toBe('its last process to exit');
  });

  test('a restart follows at one moment, also for the next control', async () => {
    rig.keeper.behave = () => ({ exitsAfterMs: 50 });
    void rig.start({ restartDelayMs: 4_000 }).catch(() => {});
    await rig.turn(50);
    const atMs = rig.clock.nowMs() + 4_000;
    expect(await first()).toMatchObject({ status: 'waiting restart', waitingUntilMs: atMs });
    await rig.turn(1_500);
    await rig.boot();
    expect(await first()).toMatchObject({ waitingUntilMs: atMs, waitingFor: 'the next attempt in 2.5s' });
    await rig.turn(2_499);
    expect(rig.spawned()).toHaveLength(1);
    await rig.turn(1);
    expect(rig.spawned()).toHaveLength(2);
  });

  test('a program that loads has its own deadline, and the age at which it is up has another', async () => {
    rig.keeper.behave = () => ({ bootsAfterMs: 4_000 });
    const beganMs = rig.clock.nowMs();
    watch(rig.start({ listenTimeoutMs: 10_000 }, { progress: true }));
    await rig.turn(3_000);
    expect(await first()).toMatchObject({
      waitingUntilMs: beganMs + 10_000,
      waitingFor: 'the end of its main module, 7.0s left',
    });
    await rig.turn(1_500);
    expect(await first()).toMatchObject({
      waitingUntilMs: beganMs + 5_000,
      waitingFor: 'a listening socket, or 0.5s of uptime',
    });
    expect(rig.published.at(-1).waiting).toMatchObject([{ phase: 'starting', untilMs: beganMs + 5_000 }]);
  });

  test('the list names the missing step while it pings a program after its deadline', async () => {
    rig.keeper.behave = () => ({ bootsAfterMs: Infinity, isHung: true });
    watch(rig.start({ listenTimeoutMs: 4_000 }));
    await rig.turn(4_200);
    expect(await first()).toMatchObject({ waitingUntilMs: null, waitingFor: 'the end of its main module' });
  });

  test('the end of a rollback window is one moment, in the list and in progress lines', async () => {
    void rig.start({ rollbackWindowMs: 20_000 });
    await rig.turn(5_000);
    watch(rig.call('reload', { targets: ['api'], progress: true }));
    await rig.turn(2_000);
    const [{ phase, untilMs }] = rig.published.at(-1).waiting;
    expect([phase, untilMs]).toEqual(['parked', rig.control.registry.desired.apps[0].rollout.windowEndsAtMs]);
    await rig.boot();
    expect(await deadlineOf()).toBe(null);
    expect(rig.control.registry.windows.get('api').endsAtMs).toBe(untilMs);
  });
});

describe('the counter of crashes', () => {
  const counts = async () => {
    const { restarts, crashes } = await first();
    return [restarts, crashes];
  };
  const exit = async (how) => {
    rig.keeper.exit(living(), how);
    await rig.turn(2_000);
  };

  test('only exits by a fault of the program count, and the count survives control', async () => {
    void rig.start({});
    await rig.turn(2_000);
    await exit({ code: 1 });
    await exit({ signal: 'SIGSEGV' });
    expect(await counts()).toEqual([2, 2]);
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGKILL']) await exit({ signal });
    await exit({ code: 143 });
    void rig.call('restart', { targets: ['api'] });
    await rig.turn(2_000);
    expect(await counts()).toEqual([8, 2]);
    await rig.boot();
    expect(await counts()).toEqual([8, 2]);
    await rig.call('reset', { targets: ['api'] });
    expect(await counts()).toEqual([0, 0]);
  });

  test('a start after a stop begins the counter at 0, and a finished program has not crashed', async () => {
    void rig.start({ autorestart: false });
    await rig.turn(2_000);
    await exit({ code: 3 });
    expect(await counts()).toEqual([0, 1]);
    void rig.call('start', { targets: ['api'] });
    await rig.turn(2_000);
    expect(await counts()).toEqual([0, 0]);
    await exit({ code: 0 });
    expect(await counts()).toEqual([0, 0]);
  });

  test('a boot timeout counts, and a new instance of a reload that never served does not', async () => {
    void rig.start({ listenTimeoutMs: 1_000 });
    await rig.turn(2_000);
    rig.keeper.behave = () => ({ exitsAfterMs: 50 });
    watch(rig.call('reload', { targets: ['api'] }));
    await rig.turn(3_000);
    expect(await counts()).toEqual([0, 0]);
    rig.keeper.behave = () => ({ bootsAfterMs: Infinity, isHung: true });
    watch(rig.call('restart', { targets: ['api'] }));
    await rig.turn(3_000);
    expect((await counts())[1]).toBe(1);
  });
});

test('the next control finds the holder of a taken port again', async () => {
  rig.findHolder = ({ port }) => ({ pid: 77, command: `nginx on ${port}` });
  rig.keeper.behave = () => ({});
  void rig.start({});
  await rig.turn(2_000);
  rig.keeper.alive[0].listenFailure = { address: null, port: 80, family: 6, code: 'EADDRINUSE', app: null };
  await rig.boot();
  expect(await first()).toMatchObject({ listenFailure: { port: 80, holder: { pid: 77, command: 'nginx on 80' } } });
});
