import { expect, test } from 'vitest';
import { createPace } from '../../../../daemon/control/logs/pipe.js';

/** Returns the pause after each chunk. The first chunk comes after a silence. */
function pausesOf(sizeBytes, everyMs, count) {
  const pace = createPace();
  return Array.from({ length: count }, (_, at) => pace(sizeBytes, 1_000 + at * everyMs));
}

test('output after a silence is read at once', () => {
  expect(pausesOf(30, 101, 3)).toEqual([0, 0, 0]);
});

test('a trickle is read after 10 ms, and then after 20', () => {
  expect(pausesOf(30, 1, 5)).toEqual([0, 10, 20, 20, 20]);
});

test('a flood is read every millisecond, and at once if the writer is ahead', () => {
  expect(pausesOf(16 * 1024, 1, 4)).toEqual([0, 1, 1, 1]);
  expect(pausesOf(32 * 1024, 1, 3)).toEqual([0, 0, 0]);
});

test('a flood after a trickle ends the long pauses', () => {
  const pace = createPace();
  for (let at = 0; at < 10; at++) pace(30, at * 20);
  expect([pace(64 * 1024, 220), pace(8 * 1024, 221)]).toEqual([0, 1]);
});
