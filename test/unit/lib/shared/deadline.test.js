import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { rejectOnAbort, withDeadline } from '../../../../lib/shared/deadline.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = new Promise(() => {});
const fail = () => {
  throw new Error('too late');
};

test('withDeadline() returns what the promise settles with, and leaves no timer', async () => {
  expect(await withDeadline(1_000, Promise.resolve('done'), fail)).toBe('done');
  await expect(withDeadline(1_000, Promise.reject(new Error('refused')), fail)).rejects.toThrow('refused');
  expect(vi.getTimerCount()).toBe(0);
});

test('at the deadline, withDeadline() settles with the result or the error of onLate', async () => {
  const result = withDeadline(1_000, never, () => 'late');
  const error = expect(withDeadline(1_000, never, fail)).rejects.toThrow('too late');
  await vi.advanceTimersByTimeAsync(999);
  expect(vi.getTimerCount()).toBe(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(await result).toBe('late');
  await error;
});

test('withDeadline() ignores a rejection after the deadline', async () => {
  let reject = () => {};
  const promise = new Promise((_, no) => {
    reject = no;
  });
  const result = withDeadline(1_000, promise, () => 'late');
  await vi.advanceTimersByTimeAsync(1_000);
  reject(new Error('vitest fails at an unhandled rejection'));
  expect(await result).toBe('late');
});

test('rejectOnAbort() rejects with the reason of the signal, also of an aborted one', async () => {
  const over = new AbortController();
  const rejected = expect(rejectOnAbort(over.signal)).rejects.toBe('left');
  over.abort('left');
  await rejected;
  await expect(rejectOnAbort(over.signal)).rejects.toBe('left');
});
