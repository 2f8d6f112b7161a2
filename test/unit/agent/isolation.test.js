import { expect, test, vi } from 'vitest';
import { createIsolation } from '../../../daemon/agent/isolation.cjs';

test('the first error is reported, and no guarded function is called after it', () => {
  const onFault = vi.fn();
  const guard = createIsolation(onFault);
  const error = new Error('no clock');
  const broken = guard(() => {
    throw error;
  });
  const other = vi.fn();
  const guarded = guard(other);
  guarded(1, 2);
  expect(other.mock.calls).toEqual([[1, 2]]);
  broken();
  broken();
  guarded(3, 4);
  expect(onFault.mock.calls).toEqual([[error]]);
  expect(other).toHaveBeenCalledTimes(1);
});

test('the guard does not throw even if it cannot report the error', () => {
  const guard = createIsolation(() => {
    throw new Error('no channel');
  });
  expect(() =>
    guard(() => {
      throw new Error('no clock');
    })(),
  ).not.toThrow();
});
