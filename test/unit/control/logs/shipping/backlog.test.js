import { expect, test } from 'vitest';
import { createBacklog } from '../../../../../daemon/control/logs/shipping/backlog.js';

const texts = (lines) => lines.map(({ line }) => line);

test('lines leave the backlog in order, with their data', () => {
  const backlog = createBacklog(10_000);
  expect(backlog.isEmpty()).toBe(true);
  expect(backlog.add('out', ['a', 'b'], 5, 3) + backlog.add('err', ['c'], 6, 4)).toBe(0);
  expect(backlog.shift(10_000)).toEqual([
    { line: 'a', stream: 'out', atMs: 5, id: 3 },
    { line: 'b', stream: 'out', atMs: 5, id: 3 },
    { line: 'c', stream: 'err', atMs: 6, id: 4 },
  ]);
  expect(backlog.isEmpty()).toBe(true);
});

test('a batch is limited, but always has at least one line', () => {
  const backlog = createBacklog(10_000);
  backlog.add('out', ['x'.repeat(500), 'y'.repeat(36), 'z'.repeat(36), '!'], 0, 0);
  expect(
    [backlog.shift(200), backlog.shift(200), backlog.shift(200)].map((lines) => texts(lines).map((line) => line[0])),
  ).toEqual([['x'], ['y', 'z'], ['!']]);
});

test('a full backlog drops the oldest lines, and counts them', () => {
  const backlog = createBacklog(1_000);
  expect(
    backlog.add(
      'out',
      Array.from({ length: 20 }, (_, at) => `${at}`.padStart(36, '0')),
      0,
      0,
    ),
  ).toBe(10);
  expect(texts(backlog.shift(10_000)).map(Number)).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
});

test('empty lines take space, too', () => {
  const backlog = createBacklog(6_400);
  expect(backlog.add('out', Array(1_000).fill(''), 0, 0)).toBe(900);
});

test('returned lines leave first, and count', () => {
  const backlog = createBacklog(200);
  backlog.add('out', ['a', 'b'], 0, 0);
  const taken = backlog.shift(1);
  backlog.add('out', ['c'], 0, 0);
  backlog.putBack(taken);
  expect(backlog.add('out', ['d'], 0, 0)).toBe(1);
  expect(texts(backlog.shift(1_000))).toEqual(['b', 'c', 'd']);
});

test('the backlog keeps nothing of lines that are gone', () => {
  const backlog = createBacklog(100_000);
  for (let at = 0; at < 10_000; at++) {
    backlog.add('out', [`${at}`, `${at}b`], 0, 0);
    if (at >= 100) expect(texts(backlog.shift(1)).length + texts(backlog.shift(1)).length).toBe(2);
  }
  expect(texts(backlog.shift(1))).toEqual(['9900']);
  expect([backlog.clear(), backlog.clear(), backlog.isEmpty()]).toEqual([199, 0, true]);
});
