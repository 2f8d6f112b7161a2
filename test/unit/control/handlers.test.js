import { expect, test } from 'vitest';
import { createRig } from './control-rig.js';

test('an instance that is gone while control looks again at what there is does not come back', async () => {
  const rig = createRig();
  await rig.boot();
  void rig.start({ instances: 2 });
  await rig.turn();
  const [{ instanceId, label }, other] = rig.keeper.alive;
  // The end of one that control has never heard of makes it look.
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
    // Both are said right behind the answer.
    rig.keeper.exit(instanceId, { code: 1 });
    rig.clock.advance(1);
  };
  rig.keeper.exit('stranger', { code: 1 });
  await rig.turn();

  expect(rig.events).toContainEqual({ event: 'unknown-instance', said: 'exited', instanceId: 'stranger' });
  expect(rig.keeper.children.has(instanceId)).toBe(false);
  expect([...rig.control.world.instances.keys()].sort()).toEqual([...rig.keeper.children.keys()].sort());
});
