import { expect, test } from 'vitest';
import { allInOrder } from '../../../../lib/shared/all-in-order.js';

test('allInOrder resolves with the values in the order of the promises', async () => {
  expect(await allInOrder([new Promise((resolve) => setImmediate(resolve, 'one')), Promise.resolve('two')])).toEqual([
    'one',
    'two',
  ]);
});

test('allInOrder rejects with the first error in order, although a later promise failed sooner', async () => {
  const late = new Promise((_, reject) => {
    setImmediate(reject, new Error('first'));
  });
  await expect(allInOrder([late, Promise.reject(new Error('second'))])).rejects.toThrow('first');
});
