import { expect, test } from 'vitest';
import { createRig } from './control-rig.js';

test('the output of a process is read even if its exit arrives with the answer to its spawn', async () => {
  const rig = createRig();
  await rig.boot();
  rig.keeper.onDone = (verb, { instanceId }) => {
    if (verb === 'spawn') rig.keeper.exit(instanceId, { code: 127, signal: null });
  };
  void rig.start({ autorestart: false }).catch(() => {});
  await rig.turn(10);
  const [{ lastDeath }] = await rig.list();
  expect(lastDeath).toMatchObject({ code: 127, pid: expect.toSatisfy((pid) => pid > 0) });
});
