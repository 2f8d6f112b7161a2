import { expect, test } from 'vitest';
import { allInOrder } from '../../../../lib/shared/all-in-order.js';

test('all values, in the order of the promises', async () => {
  expect(await allInOrder([new Promise((resolve) => setImmediate(resolve, 'one')), Promise.resolve('two')])).toEqual([
    'one',
    'two',
  ]);
});

test('the error is that of the first in order, although the second fails sooner', async () => {
  const late = new Promise((_, reject) => {
    setImmediate(reject, new Error('first'));
  });
  await expect(allInOrder([late, Promise.reject(new Error('second'))])).rejects.toThrow('first');
});
