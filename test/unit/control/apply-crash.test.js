import { expect, test } from 'vitest';
import { createRig, watch } from './control-rig.js';
import { makeSpec } from './make-spec.js';

// Control is killed before each message to the keeper, and before each write of the state. The
// client repeats its request, with the same token, to the next control.

const FILE = '/srv/nclust.config.js';
const fast = { minUptimeMs: 50, listenTimeoutMs: 300 };

const BEFORE = [
  { name: 'live', killTimeoutMs: 1_000, instances: 2 },
  { name: 'less', instances: 3 },
  { name: 'more', instances: 1 },
  { name: 'moved', mode: 'cluster', instances: 2 },
  { name: 'old' },
  { name: 'rolled', instances: 2, env: { V: '1' } },
  { name: 'same' },
  { name: 'stopped', instances: 2 },
].map((fields) => makeSpec({ ...fast, ...fields }));

const AFTER = [
  { name: 'live', killTimeoutMs: 500, instances: 2 },
  { name: 'less', instances: 1 },
  { name: 'more', instances: 3 },
  { name: 'moved', mode: 'fork', instances: 1 },
  { name: 'new', instances: 2 },
  { name: 'rolled', instances: 3, env: { V: '2' } },
  { name: 'same' },
  { name: 'stopped', instances: 2 },
].map((fields) => makeSpec({ ...fast, ...fields }));

const RUNNING = [
  'less/0',
  'live/0',
  'live/1',
  'more/0',
  'more/1',
  'more/2',
  'moved/0',
  'new/0',
  'new/1',
  'rolled/0',
  'rolled/1',
  'rolled/2',
  'same/0',
  'stopped/0',
  'stopped/1',
];
const ACTIONS = [
  'live: live',
  'less: scale',
  'more: scale',
  'moved: replace',
  'new: start',
  'rolled: rollout',
  'same: none',
  'stopped: start',
  'old: delete',
];
const actions = ({ plan }) => plan.map(({ name, action }) => `${name}: ${action}`);

/** Allows this many steps, then control is dead. */
function countdown(steps) {
  let left = steps;
  return { mayPass: () => left-- > 0, passed: () => steps - left };
}

const request = (rig, token, more = {}) =>
  watch(rig.call('apply', { specs: AFTER, file: FILE, prune: true, token, ...more }));

async function run(steps) {
  const rig = createRig();
  await rig.boot();
  void rig.call('apply', { specs: BEFORE, file: FILE });
  await rig.turn(1_000);
  void rig.call('stop', { targets: ['stopped'] });
  await rig.turn(100);
  const kept = rig.keeper.alive.filter(({ app }) => ['live', 'same'].includes(app)).map(({ pid }) => pid);
  const spawned = rig.spawned().length;
  const count = countdown(steps);
  await rig.boot(count.mayPass);
  rig.store.mayPass = count.mayPass;
  const token = rig.token();
  request(rig, token);
  await rig.turn(500);
  rig.store.mayPass = () => true;
  return { rig, token, kept, spawned, passed: count.passed() };
}

test('an apply happens exactly once if control is killed at any step of it', { timeout: 60_000 }, async () => {
  const { passed } = await run(1_000);
  expect(passed).toBeGreaterThan(30);
  for (let step = 0; step <= passed; step++) {
    const { rig, token, kept, spawned } = await run(step);
    await rig.boot();
    const again = request(rig, token);
    await rig.turn(3_000);
    expect([step, again.state, again.error]).toEqual([step, 'done', null]);
    expect([step, actions(again.result)]).toEqual([step, ACTIONS]);
    expect([step, rig.running()]).toEqual([step, RUNNING]);
    expect([step, rig.keeper.alive.length]).toEqual([step, RUNNING.length]);
    expect([step, rig.keeper.alive.filter(({ pid }) => kept.includes(pid)).length]).toEqual([step, 3]);
    expect([step, rig.spawned().length - spawned]).toEqual([step, 2 + 1 + 2 + 3 + 2]);
    expect([step, rig.keeper.alive.filter(({ app }) => app === 'rolled').map(({ env }) => env.V)]).toEqual([
      step,
      ['2', '2', '2'],
    ]);
    expect([step, rig.events.filter(({ event }) => event === 'impossible')]).toEqual([step, []]);
    const once = request(rig, rig.token(), { dryRun: true });
    await rig.turn(1);
    expect([step, once.result.plan.filter(({ action }) => action !== 'none')]).toEqual([step, []]);
  }
});
