import { expect, test } from 'vitest';
import { createRig, watch } from '../control-rig.js';
import { pattern } from '../../../helpers/pattern.js';

// Lower bounds. KEEPER: open files of the keeper. FILES: open files for each instance. MANAGER:
// tasks of keeper and control. TASKS: tasks of each instance.
const [KEEPER, FILES, MANAGER, TASKS] = [16, 3, 12, 6];
const NONE = { files: Infinity, tasks: Infinity, tasksFile: '/sys/fs/cgroup/pids.max' };

async function rigWith(limits) {
  const rig = createRig();
  rig.systemLimits = { ...NONE, ...limits };
  await rig.boot();
  const outcome = async (request) => {
    const seen = watch(request);
    await rig.turn(30_000);
    return seen;
  };
  return { rig, outcome };
}

test.each([
  [
    'open files',
    { files: KEEPER + 4 * FILES },
    pattern(
      /Start of "api" was refused: with 5 instances at once, the manager needs at least 31 open files, /,
      /but may have 28 \(ulimit -n\)\. Nothing was changed\./,
    ),
  ],
  [
    'tasks',
    { tasks: MANAGER + 4 * TASKS },
    pattern(
      /Start of "api" was refused: 5 instances at once need at least 42 processes and threads, /,
      /but the control group may have 36 \(\/sys\/fs\/cgroup\/pids\.max\)/,
    ),
  ],
])('a start without enough room (%s) is refused, and one that may fit is not', async (_what, limits, message) => {
  const { rig, outcome } = await rigWith(limits);
  const refused = await outcome(rig.start({ instances: 5 }));
  expect(refused.error).toMatchObject({
    code: 'ERR_NCLUST_PREFLIGHT',
    message: expect.stringMatching(message),
    hint: expect.stringContaining('fewer instances'),
  });
  expect([rig.spawned(), rig.wanted()]).toEqual([[], []]);
  expect(await outcome(rig.start({ instances: 4 }))).toMatchObject({ state: 'done' });
});

test('the standard input of each instance counts in fork mode', async () => {
  const { rig, outcome } = await rigWith({ files: KEEPER + FILES });
  expect((await outcome(rig.start({ mode: 'fork', instances: 1 }))).error).toMatchObject({
    code: 'ERR_NCLUST_PREFLIGHT',
  });
  rig.systemLimits = { ...NONE, files: KEEPER + FILES + 1 };
  expect(await outcome(rig.start({ mode: 'fork', instances: 1 }))).toMatchObject({ state: 'done' });
});

test('serving instances count, and stopped ones do not', async () => {
  const { rig, outcome } = await rigWith({ files: KEEPER + 4 * FILES });
  await outcome(rig.start({ name: 'a', instances: 3 }));
  expect((await outcome(rig.start({ name: 'b', instances: 2 }))).error).toMatchObject({ code: 'ERR_NCLUST_PREFLIGHT' });
  expect((await outcome(rig.call('scale', { target: 'a', instances: '5' }))).error).toMatchObject({
    code: 'ERR_NCLUST_PREFLIGHT',
    message: expect.stringContaining('Scaling of "a"'),
  });
  await outcome(rig.call('stop', { targets: ['a'] }));
  expect(await outcome(rig.start({ name: 'b', instances: 4 }))).toMatchObject({ state: 'done' });
});

test('a change to fewer instances is never refused', async () => {
  const { rig, outcome } = await rigWith({});
  await outcome(rig.start({ instances: 4 }));
  rig.systemLimits = { ...NONE, files: KEEPER + FILES };
  expect(await outcome(rig.call('scale', { target: 'api', instances: '2' }))).toMatchObject({ state: 'done' });
  expect(await outcome(rig.call('stop', { targets: ['api'] }))).toMatchObject({ state: 'done' });
});

test('a reload needs room for one more, with a rollback window for all twice, or changes nothing', async () => {
  const { rig, outcome } = await rigWith({ tasks: MANAGER + 4 * TASKS });
  await outcome(rig.start({ instances: 4 }));
  const before = rig.spawned().length;
  expect((await outcome(rig.call('reload', { targets: ['api'] }))).error).toMatchObject({
    code: 'ERR_NCLUST_PREFLIGHT',
    message: expect.stringContaining('5 instances at once'),
  });
  rig.systemLimits = { ...NONE, tasks: MANAGER + 5 * TASKS };
  expect(
    (await outcome(rig.call('reload', { targets: ['api'], spec: { rollbackWindowMs: 1_000 } }))).error,
  ).toMatchObject({ message: expect.stringContaining('8 instances at once') });
  expect(rig.spawned()).toHaveLength(before);
  expect(await outcome(rig.call('reload', { targets: ['api'] }))).toMatchObject({ state: 'done' });
});

test('a reload that stops one old instance first needs no extra room', async () => {
  const { rig, outcome } = await rigWith({ tasks: MANAGER + 2 * TASKS });
  await outcome(rig.start({ instances: 2, maxUnavailable: 1 }));
  expect(await outcome(rig.call('reload', { targets: ['api'] }))).toMatchObject({ state: 'done' });
});

test.each([
  ['a program that is no Node.js', { kind: 'exec', mode: 'fork', interpreter: 'none' }],
  ['another pool of threads', { interpreterArgs: ['--v8-pool-size=0'] }],
  ['another pool of threads by the environment', { env: { NODE_OPTIONS: '--v8_pool_size=1' } }],
])('%s may need fewer threads', async (_what, fields) => {
  const { rig, outcome } = await rigWith({ tasks: MANAGER + 4 });
  expect(await outcome(rig.start({ instances: 4, ...fields }))).toMatchObject({ state: 'done' });
  expect((await outcome(rig.call('scale', { target: 'api', instances: '5' }))).error).toMatchObject({
    code: 'ERR_NCLUST_PREFLIGHT',
  });
});
