import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { waitForAnswer } from '../../../../lib/commands/manager.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const REFUSAL = new Error('did not answer within 10s');

/**
 * @param {(nth: number) => boolean} doesAnswer  Whether the ping with this number, from 1, gets an
 *   answer.
 */
function asking(doesAnswer) {
  const seen = { asked: 0, error: null };
  const over = new AbortController();
  const request = async () => {
    seen.asked += 1;
    if (!doesAnswer(seen.asked)) throw REFUSAL;
  };
  waitForAnswer({ request }, over.signal).catch((error) => {
    seen.error = error;
  });
  return { seen, over };
}

test('a manager that answers is waited for as long as it takes', async () => {
  const { seen } = asking((nth) => nth % 3 === 0);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(seen).toEqual({ asked: 720, error: null });
});

test('one that leaves three questions in a row unanswered hangs', async () => {
  const { seen } = asking((nth) => nth <= 2);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(seen).toEqual({ asked: 4, error: null });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(seen).toEqual({ asked: 5, error: REFUSAL });
  expect(vi.getTimerCount()).toBe(0);
});

test('when it is over nothing is asked any more', async () => {
  const { seen, over } = asking(() => false);
  over.abort();
  await vi.advanceTimersByTimeAsync(60_000);
  expect([seen, vi.getTimerCount()]).toEqual([{ asked: 0, error: null }, 0]);
});
