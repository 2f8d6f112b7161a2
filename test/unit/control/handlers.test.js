import { expect, test } from 'vitest';
import { createRig } from './control-rig.js';

test('an instance that exits while control lists instances again does not return', async () => {
  const rig = createRig();
  await rig.boot();
  void rig.start({ instances: 2 });
  await rig.turn();
  const [{ instanceId, label }, other] = rig.keeper.alive;
  // If an unknown instance exits, control requests a snapshot.
  rig.keeper.children.set('stranger', {
    ...other,
    instanceId: 'stranger',
    label: { ...label, id: 7, name: 'other' },
    exit: null,
    timers: [],
  });
  rig.keeper.onDone = (verb) => {
    if (verb !== 'snapshot') return;
    rig.keeper.onDone = () => {};
    // The events "exited" and "gone" follow the answer immediately.
    rig.keeper.exit(instanceId, { code: 1 });
    rig.clock.advance(1);
  };
  rig.keeper.exit('stranger', { code: 1 });
  await rig.turn();

  expect(rig.events).toContainEqual({ event: 'unknown-instance', said: 'exited', instanceId: 'stranger' });
  expect(rig.keeper.children.has(instanceId)).toBe(false);
  expect([...rig.control.registry.instances.keys()].sort()).toEqual([...rig.keeper.children.keys()].sort());
});
