import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchBoot } from '../../../daemon/keeper/control-supervisor.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a control that is not ready after 30 s is late, which is reported once', () => {
  const onLate = vi.fn();
  watchBoot(onLate);
  vi.advanceTimersByTime(29_900);
  expect(onLate).not.toHaveBeenCalled();
  vi.advanceTimersByTime(60_000);
  expect([onLate.mock.calls.length, vi.getTimerCount()]).toEqual([1, 0]);
});

test('a control that became ready is not late', () => {
  const onLate = vi.fn();
  const end = watchBoot(onLate);
  vi.advanceTimersByTime(20_000);
  end();
  vi.advanceTimersByTime(60_000);
  expect([onLate.mock.calls.length, vi.getTimerCount()]).toEqual([0, 0]);
});
