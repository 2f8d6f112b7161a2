import { expect, test } from 'vitest';
import { createHomeKeeping } from '../../../daemon/control/home.js';
import { settle } from '../../helpers/fake-keeper.js';

test.each([
  ['in each look', {}],
  ['even if the list cannot be written', { isMissing: () => true, save: () => void expect.unreachable('ENOSPC') }],
])('the log of the manager is put back %s', async (_, { isMissing = () => false, save = () => {} }) => {
  let restored = 0;
  const putBack = createHomeKeeping({
    paths: {},
    parts: { store: { isMissing, save }, managerLog: () => {}, ownLog: { restore: () => (restored += 1) } },
    control: { registry: { desired: { apps: [{}] }, ending: null } },
    api: { isMissing: () => false },
    pidFiles: { putBack: () => {} },
  });
  for (const count of [1, 2]) {
    putBack();
    await settle();
    expect(restored).toBe(count);
  }
});
