import { expect, test } from 'vitest';
import { locksAmong } from '../../../../../lib/shared/daemon/keeper-locks.js';

test('locksAmong() sorts by number, with the mark of a keeper after its socket', () => {
  const names = ['keeper.10.sock', 'keeper.9.left', 'nclust.sock', 'keeper.9.sock', 'keeper.x.sock', 'c.12.abcd'];
  expect(locksAmong(names).map(({ name, number, isSocket }) => [name, number, isSocket])).toEqual([
    ['keeper.9.sock', 9, true],
    ['keeper.9.left', 9, false],
    ['keeper.10.sock', 10, true],
  ]);
});
