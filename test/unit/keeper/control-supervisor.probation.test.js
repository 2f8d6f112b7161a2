import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchProbation } from '../../../daemon/keeper/control-supervisor.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/**
 * @param {(nth: number) => boolean} doesAnswer  Whether control answers the ping with this number,
 *   from 1.
 */
function watched(doesAnswer) {
  const said = [];
  let asked = 0;
  const probation = watchProbation({
    ping: () => {
      asked += 1;
      if (doesAnswer(asked)) probation.answered();
    },
    onProven: () => said.push('proven'),
    onSilent: () => said.push('silent'),
  });
  return { said, probation };
}

test('a control that answers is proven after 10 s, and gets no more pings', () => {
  const { said } = watched(() => true);
  vi.advanceTimersByTime(9_900);
  expect(said).toEqual([]);
  vi.advanceTimersByTime(60_000);
  expect(said).toEqual(['proven']);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  [0, 6_000],
  [3, 9_000],
  [9, 15_000],
])(
  'a control that misses %d pings hangs: it gets five more pings, and then it is reported as silent',
  (answered, silentAtMs) => {
    const { said } = watched((nth) => nth <= answered);
    vi.advanceTimersByTime(silentAtMs - 100);
    expect(said).toEqual([]);
    vi.advanceTimersByTime(60_000);
    expect(said).toEqual(['silent']);
    expect(vi.getTimerCount()).toBe(0);
  },
);

test('a control that answers late is proven', () => {
  const { said, probation } = watched((nth) => nth > 4);
  vi.advanceTimersByTime(4_900);
  probation.answered();
  vi.advanceTimersByTime(60_000);
  expect(said).toEqual(['proven']);
});

test('a probation that was ended reports nothing', () => {
  const { said, probation } = watched(() => false);
  probation.end();
  vi.advanceTimersByTime(60_000);
  expect(said).toEqual([]);
});
