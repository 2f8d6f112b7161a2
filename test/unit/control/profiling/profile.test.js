import { expect, test } from 'vitest';
import { openInspector } from '../../../../daemon/control/profiling/inspector.js';
import { sampleStack, takeProfile } from '../../../../daemon/control/profiling/profile.js';
import { createRig, watch } from '../control-rig.js';

async function running(spec) {
  const rig = createRig();
  await rig.boot();
  await Promise.all([rig.start({ name: 'api', ...spec }), rig.turn(2_000)]);
  const left = new AbortController();
  const client = { signal: left.signal, subscriptions: new Map() };
  const take = (more = {}) =>
    watch(
      takeProfile(
        rig.context,
        { target: '0', kind: 'cpu', durationMs: 1_000, file: '/tmp/a.cpuprofile', ...more },
        client,
      ),
    );
  const steps = () =>
    rig.keeper.requests.filter(({ verb }) => verb === 'profile').map(({ params }) => params.question.step);
  return { rig, take, steps, client, leave: () => left.abort(), child: rig.keeper.alive[0] };
}

test('the worker itself takes the profile, and the request is answered when it is written', async () => {
  const { rig, take, steps } = await running();
  const profile = take();
  await rig.turn(1_000);
  expect([profile.state, steps()]).toEqual(['pending', ['begin', 'end']]);
  rig.keeper.profileEnds[0]();
  await rig.turn(1);
  expect(profile.result).toEqual({ slot: { id: 0, name: 'api', slot: 0, pid: expect.any(Number) }, bytes: 7 });
  expect(steps()).toEqual(['begin', 'end']);
});

test('a worker with a blocked loop is not asked, because the request would wait for it', async () => {
  const { rig, take, steps, child } = await running();
  child.behaviour.isHung = true;
  const [profile, stack] = [take(), watch(sampleStack(rig.context, { target: '0', durationMs: 200 }))];
  await rig.turn(2_100);
  expect([profile.result, stack.result]).toMatchObject([
    { slot: { id: 0 }, bytes: null },
    { slot: { id: 0 }, stack: null },
  ]);
  expect(steps()).toEqual([]);
});

test('the profile is cancelled when its client disconnects', async () => {
  const { rig, take, steps, leave } = await running();
  const profile = take();
  await rig.turn(100);
  leave();
  await rig.turn(1);
  expect([profile.state, steps()]).toEqual(['failed', ['begin', 'end', 'drop']]);
});

test.each([
  ['EBUSY', 'ERR_NCLUST_PROFILE_BUSY', ['begin']],
  ['ENOSPC', 'ERR_NCLUST_FILE_UNWRITABLE', ['begin', 'drop']],
  ['EFAILED', 'ERR_NCLUST_NOT_REACHABLE', ['begin', 'drop']],
])(
  'the failure %s of the worker is reported as %s, and only its own profile is dropped',
  async (code, expected, asked) => {
    const { rig, take, steps } = await running();
    rig.keeper.profiles = () => ({ failure: { code, message: 'no' }, bytes: 0, stack: null });
    const profile = take();
    await rig.turn(1);
    expect([profile.error.code, steps()]).toEqual([expected, asked]);
  },
);

test('a target that is not a single Node.js program is refused with a hint', async () => {
  const several = await running({ instances: 2, mode: 'cluster' });
  const profile = several.take({ target: 'api' });
  const exec = await running({ kind: 'exec', mode: 'fork', file: '/bin/sh' });
  const stack = watch(sampleStack(exec.rig.context, { target: 'api', durationMs: 200 }));
  await several.rig.turn(1);
  expect(profile.error).toMatchObject({ code: 'ERR_NCLUST_BAD_SELECTOR', hint: 'Give one of the ids 0, 1.' });
  expect(stack.error).toMatchObject({
    code: 'ERR_NCLUST_NOT_REACHABLE',
    hint: expect.stringMatching('py-spy dump --pid \\d+'),
  });
});

test('a profile of an unknown kind is refused before a worker is asked', async () => {
  const { rig, steps } = await running();
  const profile = watch(rig.call('profile', { target: 'api', kind: 'disk', file: '/tmp/a' }));
  await rig.turn(1);
  expect(profile.error.message).toBe('"kind" has to be "cpu" or "heap" or "heap-sampling".');
  expect(steps()).toEqual([]);
});

test('an outdated keeper is distinguished from a process that cannot be reached', async () => {
  const { rig, take } = await running();
  rig.keeper.lacks.add('profile');
  const profile = take();
  await rig.turn(1);
  expect(profile.error.code).toBe('ERR_NCLUST_KEEPER_OUTDATED');
});

test('control neither rolls back nor reloads a worker that is blocked and grows for a heap snapshot', async () => {
  const rig = createRig();
  let bytes = 1;
  rig.senses.readTrees = async (pids) => new Map(pids.map((pid) => [pid, { bytes, pids: [pid] }]));
  await rig.boot();
  await Promise.all([rig.start({ name: 'api', maxMemoryBytes: 1024 ** 2, minUptimeMs: 1_000 }), rig.turn(10_000)]);
  const [child] = rig.keeper.alive;
  const { signal } = new AbortController();
  const snapshot = watch(
    takeProfile(rig.context, { target: '0', kind: 'heap', durationMs: 0, file: '/tmp/a' }, { signal }),
  );
  await rig.turn(1);
  bytes = 1024 ** 3;
  await rig.turn(30_000);
  expect([snapshot.state, rig.keeper.alive.map(({ pid }) => pid)]).toEqual(['pending', [child.pid]]);
  rig.keeper.profileEnds[0]();
  await rig.turn(30_000);
  expect(snapshot.state).toBe('done');
  expect(rig.keeper.alive[0].pid).not.toBe(child.pid);
});

test('no debugger attaches during a heap snapshot, because the worker is not blocked by its own code', async () => {
  const { rig, take, steps, child } = await running();
  const snapshot = take({ kind: 'heap' });
  await rig.turn(1);
  child.behaviour.isHung = true;
  const others = [take({ file: '/tmp/b' }), watch(sampleStack(rig.context, { target: '0', durationMs: 200 }))];
  await rig.turn(1);
  expect(others.map(({ error }) => error?.code)).toEqual(['ERR_NCLUST_PROFILE_BUSY', 'ERR_NCLUST_PROFILE_BUSY']);
  expect([snapshot.state, steps()]).toEqual(['pending', ['begin', 'end']]);
});

test('a snapshot of a new instance in a rollback window does not take the traffic back', async () => {
  const rig = createRig();
  await rig.boot();
  await Promise.all([
    rig.start({ name: 'api', instances: 2, mode: 'cluster', rollbackWindowMs: 30_000 }),
    rig.turn(3_000),
  ]);
  const reload = watch(rig.call('reload', { targets: ['api'] }));
  await rig.turn(5_000);
  const [renewed] = rig.keeper.alive.filter(({ label }) => label.generation > 1);
  const snapshot = watch(
    takeProfile(
      rig.context,
      { target: String(renewed.label.id), kind: 'heap', durationMs: 0, file: '/tmp/a' },
      { signal: new AbortController().signal },
    ),
  );
  await rig.turn(1);
  renewed.behaviour.isHung = true;
  await rig.turn(10_000);
  renewed.behaviour.isHung = false;
  rig.keeper.profileEnds[0]();
  await rig.turn(30_000);
  expect([snapshot.state, reload.state, reload.error]).toEqual(['done', 'done', null]);
});

test('control does not send the signal for a debugger to a process that dies of it or handles it itself', async () => {
  const { rig, client } = await running();
  const [child] = rig.keeper.alive;
  const attempt = () => watch(openInspector(rig.context, { target: '0', isOver: false }, client));
  // No process has this pid, because Linux assigns smaller ones.
  rig.control.registry.instances.get(child.instanceId).pid = 2 ** 22 + 1;
  const ended = attempt();
  await rig.turn(1);
  expect(ended.error).toMatchObject({
    code: 'ERR_NCLUST_NOT_REACHABLE',
    message: expect.stringMatching('--disable-sigusr1|only on Linux'),
  });
  // This process stands for an app that handles SIGUSR1.
  rig.control.registry.instances.get(child.instanceId).pid = process.pid;
  rig.keeper.reports.set(child.instanceId, { ownsUsr1: true });
  const own = attempt();
  await rig.turn(1);
  expect(own.error).toMatchObject({
    code: 'ERR_NCLUST_NOT_REACHABLE',
    message: expect.stringMatching('handles SIGUSR1 itself|only on Linux'),
  });
  expect(rig.keeper.requests.filter(({ verb }) => verb === 'signal')).toEqual([]);
});

/** @param {{ url?: string }} o  The address that Node.js prints. */
async function breakIn({ url } = {}) {
  const { rig, client, child } = await running();
  rig.control.registry.instances.get(child.instanceId).pid = process.pid;
  const said = [];
  let print = () => {};
  // Replaces the fake keeper, because its processes exit at every signal.
  rig.control.askKeeper = async (verb, { signal, question }) => {
    if (verb === 'reports') return { reports: {} };
    said.push(signal ?? question?.step ?? verb);
    if (signal && url) print(url);
    return { failure: null };
  };
  rig.context.parts.logs.hideInspector = (_instanceId, onUrl) => {
    print = onUrl;
    said.push('hide');
    return () => void said.push('show');
  };
  const call = (isOver) => watch(openInspector(rig.context, { target: '0', isOver }, client));
  return { rig, client, said, call, print: (line) => print(line) };
}

const URL = 'ws://127.0.0.1:1/x';

test.runIf(process.platform === 'linux').each([
  ['says that it is over', ({ call }) => call(true)],
  ['disconnects', ({ client }) => client.subscriptions.forEach((end) => end())],
])('the inspector is closed, and its lines are hidden until then, when the client %s', async (_what, leave) => {
  const inside = await breakIn({ url: URL });
  const opened = inside.call(false);
  await inside.rig.turn(1);
  expect([opened.result?.url, inside.said]).toEqual([URL, ['hide', 'SIGUSR1']]);
  leave(inside);
  await inside.rig.turn(1);
  expect(inside.said).toEqual(['hide', 'SIGUSR1', 'shut', 'show']);
});

test.runIf(process.platform === 'linux')('an inspector that was open before is left open', async () => {
  const { rig, call, said } = await breakIn();
  const opened = call(false);
  await rig.turn(5_100);
  expect(opened.result?.url).toBe(null);
  call(true);
  await rig.turn(1);
  expect(said).toEqual(['hide', 'SIGUSR1', 'ping', 'show']);
});

test.runIf(process.platform === 'linux')('an inspector that opens too late is closed', async () => {
  const { rig, call, said, print } = await breakIn();
  call(false);
  await rig.turn(5_100);
  print(URL);
  call(true);
  await rig.turn(1);
  expect(said).toEqual(['hide', 'SIGUSR1', 'shut', 'show']);
});

test.runIf(process.platform === 'linux')(
  'a second client waits until the first one has closed its inspector',
  async () => {
    const { rig, call, client, said } = await breakIn({ url: URL });
    call(false);
    await rig.turn(1);
    const second = call(false);
    await rig.turn(1_000);
    expect([second.state, said.filter((one) => one === 'SIGUSR1')]).toEqual(['pending', ['SIGUSR1']]);
    for (const end of client.subscriptions.values()) end();
    await rig.turn(1);
    expect([second.result?.url, said.filter((one) => one === 'SIGUSR1').length]).toEqual([URL, 2]);
  },
);
