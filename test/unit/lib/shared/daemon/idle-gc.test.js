import { afterEach, expect, test, vi } from 'vitest';
import { createIdleGc } from '../../../../../lib/shared/daemon/idle-gc.js';

afterEach(() => void vi.useRealTimers());

test('garbage is collected once, after an idle period', () => {
  vi.useFakeTimers();
  const collect = vi.fn();
  const touch = createIdleGc(collect);
  for (let at = 0; at < 20; at += 1) {
    touch();
    vi.advanceTimersByTime(1_000);
  }
  expect(collect).not.toHaveBeenCalled();
  vi.advanceTimersByTime(60_000);
  expect(collect).toHaveBeenCalledTimes(1);
  touch();
  vi.advanceTimersByTime(60_000);
  expect(collect).toHaveBeenCalledTimes(2);
});

test('nothing happens if garbage cannot be collected', () => {
  vi.useFakeTimers();
  createIdleGc()();
  vi.advanceTimersByTime(60_000);
  expect(vi.getTimerCount()).toBe(0);
});
