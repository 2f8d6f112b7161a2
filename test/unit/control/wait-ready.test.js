import { beforeEach, describe, expect, test } from 'vitest';
import { createRig, watch } from './control-rig.js';

let rig;

beforeEach(async () => {
  rig = createRig();
  await rig.boot();
});

const notices = async () => (await rig.call('list')).notices;
const start = (fields = {}) => watch(rig.start({ waitReady: true, listenTimeoutMs: 3_000, ...fields }));
const behave = (behaviour) => {
  rig.keeper.behave = () => behaviour;
};
const listensOutside = () => {
  rig.activity = () => ({ cpuMs: 0, ioBytes: 0, isListening: true });
};
const PYTHON = {
  kind: 'exec',
  mode: 'fork',
  file: '/usr/bin/python3',
  interpreter: '/usr/bin/python3',
  interpreterArgs: [],
};

describe('an app with wait_ready', () => {
  test.each([
    ['listens and never sends it', { listensAfterMs: 10 }, {}, () => {}, /^"api" .* Call process.send\('ready'\)/],
    ['is not Node.js, and listens', {}, PYTHON, listensOutside, /^"api" has wait_ready.*\. Remove wait_ready\.$/],
    ['whose child listens', {}, { mode: 'fork' }, listensOutside, /^"api" has wait_ready/],
  ])('an app that %s is up at listen_timeout, with a lasting notice', async (_what, behaviour, spec, act, notice) => {
    behave(behaviour);
    act();
    const request = start(spec);
    await rig.turn(2_999);
    expect([request.state, await notices()]).toEqual(['pending', []]);
    await rig.turn(20);
    expect(request.state).toBe('done');
    expect(await notices()).toEqual([expect.stringMatching(notice)]);
    await rig.boot();
    await rig.turn(20);
    expect([(await rig.list())[0].status, await notices()]).toEqual(['online', [expect.stringMatching(notice)]]);
    const stopping = rig.call('stop', { targets: ['api'] });
    await rig.turn();
    await stopping;
    expect(await notices()).toEqual([]);
  });

  test.each([
    ['neither listens nor sends it', {}, {}],
    ['is not Node.js and does not listen', {}, PYTHON],
  ])('an app with wait_ready that %s fails', async (_what, behaviour, spec) => {
    behave(behaviour);
    const request = start(spec);
    await rig.turn(3_020);
    expect(request.error.message).toBe(
      'The start of "api" failed: instance 0 was not ready in 3s (it did not send "ready").',
    );
  });

  test.each([
    ['a restart', 'restart', { targets: ['api'] }, () => {}],
    ['a reload', 'reload', { targets: ['api'] }, () => {}],
    ['a reload by the next control', 'reload', { targets: ['api'] }, () => rig.boot()],
    ['a scale up', 'scale', { target: 'api', instances: '2' }, () => {}],
  ])('an app with wait_ready that has sent it once has to send it after %s', async (_what, method, params, then) => {
    behave({ listensAfterMs: 10, readyAfterMs: 20 });
    start();
    await rig.turn(1_000);
    behave({ listensAfterMs: 10 });
    await then();
    const request = watch(rig.call(method, params));
    await rig.turn(3_100);
    expect(request.error.message).toContain('it did not send "ready"');
    expect(await notices()).toEqual([]);
  });

  test('an app with wait_ready that sends it late is up then, without a notice', async () => {
    behave({ listensAfterMs: 10, readyAfterMs: 2_000 });
    const request = start();
    await rig.turn(2_000);
    expect([request.state, await notices()]).toEqual(['done', []]);
  });

  test('an app with wait_ready that never sends it can reload, and the old one stays for listen_timeout', async () => {
    behave({ listensAfterMs: 10 });
    start({ mode: 'cluster' });
    await rig.turn(4_000);
    const [{ instanceId: old }] = rig.keeper.alive;
    const request = watch(rig.call('reload', { targets: ['api'] }));
    await rig.turn(2_990);
    expect(rig.keeper.alive.map(({ instanceId }) => instanceId)).toContain(old);
    await rig.turn(2_000);
    expect([request.state, rig.keeper.alive.length]).toEqual(['done', 1]);
  });
});

describe('a server that the keeper does not know', () => {
  const NPM = { mode: 'fork', minUptimeMs: 10_000 };
  const listensAfter = (ms) => {
    rig.activity = (pid) => {
      const { startedAtMs } = [...rig.keeper.children.values()].find((child) => child.pid === pid);
      return { cpuMs: 0, ioBytes: 0, isListening: rig.clock.nowMs() - startedAtMs >= ms };
    };
  };

  test.each([
    ['behind npm', NPM],
    ['in Python', { ...NPM, ...PYTHON }],
    ['of several instances', { ...NPM, ...PYTHON, instances: 3 }],
  ])('a server %s is up when it listens, in start, restart and reload, whatever min_uptime is', async (_what, spec) => {
    behave({});
    listensAfter(300);
    const starting = watch(rig.start(spec));
    await rig.turn(600);
    expect(starting.state).toBe('done');
    for (const method of ['restart', 'reload']) {
      const request = watch(rig.call(method, { targets: ['api'] }));
      await rig.turn(4_000);
      expect(request.state, method).toBe('done');
    }
  });

  test('an unknown server that does not listen is up at the age of min_uptime', async () => {
    behave({});
    const request = watch(rig.start(NPM));
    await rig.turn(9_999);
    expect(request.state).toBe('pending');
    await rig.turn(1);
    expect(request.state).toBe('done');
  });

  test('an unknown server that exits before min_uptime has an unstable exit', async () => {
    behave({ exitsAfterMs: 5_000 });
    listensAfter(300);
    void rig.start(NPM);
    await rig.turn(5_001);
    expect(await rig.list()).toMatchObject([{ status: 'waiting restart', unstableRestarts: 1 }]);
  });
});

test('the canary of an app with wait_ready is admitted as soon as it has sent "ready" and answers', async () => {
  behave({ listensAfterMs: 10, readyAfterMs: 60 });
  void start({ minUptimeMs: 1_000 });
  await rig.turn(2_000);
  const request = watch(rig.call('reload', { targets: ['api'] }));
  await rig.turn(50);
  expect(rig.keeper.requests.filter(({ verb }) => verb === 'admit')).toEqual([]);
  await rig.turn(200);
  expect(request.state).toBe('done');
});
