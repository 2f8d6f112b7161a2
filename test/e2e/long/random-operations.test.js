import { expect, test } from 'vitest';
import { doRandomOperations } from '../../helpers/random-operations.js';
import { sandbox } from '../../helpers/sandbox.js';

test.each([[20261], [20262]])(
  'the list matches the real processes after each of 25 random operations (seed %d)',
  async (seed) => {
    const home = await sandbox();
    const done = await doRandomOperations(home, { operations: 25, seed });
    expect(Object.values(done).reduce((sum, count) => sum + count, 0)).toBe(25);
  },
);
