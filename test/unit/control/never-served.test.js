import { beforeEach, expect, test } from 'vitest';
import { createRig, watch } from './control-rig.js';

let rig;

beforeEach(async () => {
  rig = createRig();
  await rig.boot();
});

const reload = (more = {}) => watch(rig.call('reload', { targets: ['api'], ...more }));
const restarts = async () => (await rig.list()).map((slot) => slot.restarts);

async function running(fields = {}) {
  void rig.start({ instances: 2, ...fields });
  await rig.turn(5_000);
  void rig.call('restart', { targets: ['1'] });
  await rig.turn(5_000);
  expect(await restarts()).toEqual([0, 1]);
}

test.each([
  ['exits', { exitsAfterMs: 5, code: 1 }],
  ['crashes behind its gate', { listensAfterMs: 10, exitsAfterMs: 900, code: 1 }],
  ['cannot be started', { refuses: 'ENOENT' }],
  ['is not ready in time', {}],
  ['hangs', { listensAfterMs: 10, isHung: true }],
])('a new instance that %s is not a restart of its slot, but its later restart is one', async (_what, behaviour) => {
  await running();
  rig.keeper.behave = () => behaviour;
  const request = reload();
  await rig.turn(500);
  expect(await restarts()).toEqual([0, 1]);
  await rig.turn(20_000);
  expect([request.state, await restarts()]).toEqual(['failed', [0, 1]]);
  rig.keeper.behave = () => ({ listensAfterMs: 10 });
  rig.keeper.exit(rig.keeper.alive.find(({ label }) => label.slot === 0).instanceId, { code: 1 });
  await rig.turn(2_000);
  expect(await restarts()).toEqual([1, 1]);
});

test('a new instance that another reload overtakes is not a restart either', async () => {
  await running();
  reload();
  await rig.turn(500);
  const second = reload();
  await rig.turn(3_000);
  expect([second.state, await restarts()]).toEqual(['done', [1, 2]]);
});

test('an app that must not run twice counts one restart, not two, when the old instance starts again', async () => {
  rig.keeper.behave = () => ({});
  await running({ mode: 'fork', kind: 'exec' });
  rig.keeper.behave = ({ env }) => (env.BAD ? { exitsAfterMs: 5, code: 1 } : {});
  const request = reload({ env: { BAD: '1' } });
  await rig.turn(5_000);
  expect([request.state, await restarts()]).toEqual(['failed', [1, 1]]);
});

test('an admitted instance that crashed later counts as a restart', async () => {
  await running();
  rig.keeper.behave = ({ label }) =>
    label.generation === 3 && label.slot === 0
      ? { listensAfterMs: 10, exitsAfterMs: 1_100, code: 7 }
      : { listensAfterMs: 200 };
  const request = reload();
  await rig.turn(3_000);
  expect([request.state, await restarts()]).toEqual(['failed', [2, 1]]);
});

test('the next control does not count the restart again', async () => {
  await running();
  rig.keeper.behave = () => ({ listensAfterMs: 10, exitsAfterMs: 900, code: 1, goneAfterMs: 500 });
  reload();
  await rig.turn(950);
  await rig.boot();
  await rig.turn(3_000);
  await rig.boot();
  await rig.turn(100);
  expect(await restarts()).toEqual([0, 1]);
});

test('counters that a client resets during a trial are zero after its failure, and count from there', async () => {
  await running();
  rig.keeper.behave = () => ({ listensAfterMs: 10, exitsAfterMs: 900, code: 1 });
  reload();
  await rig.turn(500);
  await rig.call('reset', { targets: ['all'] });
  await rig.turn(3_000);
  expect(await restarts()).toEqual([0, 0]);
  rig.keeper.behave = () => ({ listensAfterMs: 10 });
  void rig.call('restart', { targets: ['0'] });
  await rig.turn(3_000);
  expect(await restarts()).toEqual([1, 0]);
});
