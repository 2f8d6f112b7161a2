import { beforeEach, expect, test } from 'vitest';
import { createRig } from '../control-rig.js';

let rig;

beforeEach(async () => {
  rig = createRig();
  await rig.boot();
});

test('a brief list contains fewer fields of the whole list, with the same values', async () => {
  rig.keeper.behave = ({ label }) => (label.name === 'crasher' ? { exitsAfterMs: 1, code: 1 } : { listensAfterMs: 1 });
  for (const name of ['api', 'crasher', 'rester']) void rig.start({ name, instances: 2 }).catch(() => {});
  await rig.turn(500);
  void rig.call('stop', { targets: ['rester'] });
  await rig.turn(500);
  const [whole, brief] = [await rig.list(), await rig.list({ brief: true })];
  expect(brief).toHaveLength(6);
  expect(whole).toMatchObject(brief);
  expect(new Set(brief.map(({ status }) => status)).size).toBe(3);
  expect(Object.keys(brief[0])).not.toContain('script');
});

test('a detailed list is not brief', async () => {
  void rig.start({}).catch(() => {});
  await rig.turn(500);
  expect(await rig.list({ brief: true, detail: true })).toMatchObject([
    { script: expect.any(String), deaths: [], spec: { name: 'api' } },
  ]);
});

test('"brief" has to be true or false', async () => {
  await expect(rig.list({ brief: 'yes' })).rejects.toThrow('"brief" has to be true or false');
});
