import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { waitForAnswer } from '../../../../lib/commands/update.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const REFUSAL = new Error('did not answer within 10s');

/**
 * @param {(nth: number) => boolean} doesAnswer  `nth` counts from 1.
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

test('waitForAnswer() waits without a limit for a manager that answers', async () => {
  const { seen } = asking((nth) => nth % 3 === 0);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(seen).toEqual({ asked: 720, error: null });
});

test('waitForAnswer() rejects after three unanswered pings in a row', async () => {
  const { seen } = asking((nth) => nth <= 2);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(seen).toEqual({ asked: 4, error: null });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(seen).toEqual({ asked: 5, error: REFUSAL });
  expect(vi.getTimerCount()).toBe(0);
});

test('waitForAnswer() sends no ping after an abort', async () => {
  const { seen, over } = asking(() => false);
  over.abort();
  await vi.advanceTimersByTimeAsync(60_000);
  expect([seen, vi.getTimerCount()]).toEqual([{ asked: 0, error: null }, 0]);
});
