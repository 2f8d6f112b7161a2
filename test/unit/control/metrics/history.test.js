import { beforeEach, expect, test } from 'vitest';
import { createHistory } from '../../../../daemon/control/metrics/history.js';

const START = 1_700_000_000_000;
let nowMs;
let history;

beforeEach(() => {
  nowMs = START;
  history = createHistory([false, true]);
});

function tick(values, { afterMs = 1_000, key = 1 } = {}) {
  nowMs += afterMs;
  history.advance(nowMs);
  if (values) history.put(key, values);
}

const seconds = (points, series = 0) => history.read([1], series, { stepMs: 1000, points });
const tens = (points, series = 0) => history.read([1], series, { stepMs: 10000, points });

test('the last values are returned oldest first, with none before the first', () => {
  for (const value of [1, 2, 3]) tick([value, null]);
  expect(seconds(5)).toEqual([null, null, 1, 2, 3]);
  expect(seconds(2, 1)).toEqual([null, null]);
  expect(history.endMs(1000)).toBe(START + 3_000);
});

test('ten seconds become one point: the mean, or the worst value', () => {
  for (let value = 1; value <= 20; value += 1) tick([value, value]);
  tick([0, 0]);
  expect(tens(2)).toEqual([5.5, 15.5]);
  expect(tens(2, 1)).toEqual([10, 20]);
  expect(history.endMs(10000)).toBe(START + 20_000);
});

test('the history keeps ten minutes by the second and six hours by ten seconds, and no more', () => {
  for (let value = 1; value <= 21_700; value += 1) tick([value, null]);
  expect(seconds(600)[0]).toBe(21_101);
  expect(tens(2160)[0]).toBeCloseTo(21_690 - 21_600 + 5.5, 0);
  expect(tens(2160).every((value) => value !== null)).toBe(true);
});

test('missing ticks are gaps, and so is a process that did not run', () => {
  tick([1, null]);
  tick([2, null], { afterMs: 3_000 });
  tick(null);
  expect(seconds(5)).toEqual([1, null, null, 2, null]);
});

test('a clock that is set back or far ahead costs no more than a tick', () => {
  tick([1, null]);
  tick([2, null], { afterMs: -3_600_000 });
  tick([3, null], { afterMs: 86_400_000 });
  expect(seconds(3)).toEqual([1, 2, 3]);
});

test('a deleted app is forgotten', () => {
  tick([1, null]);
  history.forget((key) => key !== 1);
  expect(seconds(1)).toEqual([null]);
});

test('several slots are read as one: the sum, or the worst value, of those that have one', () => {
  const both = (series) => history.read([1, 2], series, { stepMs: 1000, points: 3 });
  tick([1, 10]);
  tick([2, 20]);
  history.put(2, [5, 7]);
  tick(null);
  history.put(2, [6, null]);
  expect(both(0)).toEqual([1, 7, 6]);
  expect(both(1)).toEqual([10, 20, null]);
});
