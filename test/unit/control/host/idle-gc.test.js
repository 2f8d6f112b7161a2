import { expect, test, vi } from 'vitest';
import { createIdleGc } from '../../../../daemon/control/host/idle-gc.js';
import { createFakeClock } from '../../../helpers/fake-clock.js';

test('garbage is collected once, after an idle period', () => {
  const clock = createFakeClock();
  const collect = vi.fn();
  const touch = createIdleGc(clock, collect);
  for (let at = 0; at < 20; at += 1) {
    touch();
    clock.advance(1_000);
  }
  expect(collect).not.toHaveBeenCalled();
  clock.advance(60_000);
  expect(collect).toHaveBeenCalledTimes(1);
  touch();
  clock.advance(60_000);
  expect(collect).toHaveBeenCalledTimes(2);
});

test('nothing happens if garbage cannot be collected', () => {
  const clock = createFakeClock();
  createIdleGc(clock)();
  clock.advance(60_000);
  expect(clock.pending()).toBe(0);
});
