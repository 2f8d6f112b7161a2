import { expect, test } from 'vitest';
import { createSerial } from '../../../../lib/shared/serial.js';

test('work waits for the end of earlier work, also of work that fails', async () => {
  const inTurn = createSerial();
  const seen = [];
  let fail = () => {};
  const one = inTurn(
    () =>
      new Promise((_resolve, reject) => {
        seen.push('one begins');
        fail = () => reject(new Error('one failed'));
      }),
  );
  const two = inTurn(() => seen.push('two'));
  await Promise.resolve();
  expect(seen).toEqual(['one begins']);
  fail();
  await expect(one).rejects.toThrow('one failed');
  expect(await two).toBe(2);
});
