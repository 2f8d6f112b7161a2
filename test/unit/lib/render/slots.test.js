import { expect, test } from 'vitest';
import { formatBytes, formatUptime } from '../../../../lib/render/slots.js';

test.each([
  [-5, '0s'],
  [0, '0s'],
  [59_999, '59s'],
  [60_000, '1m'],
  [3_600_000, '1h'],
  [86_400_000, '1D'],
  [10 * 86_400_000, '10D'],
])('formatUptime(%d) is %j', (ms, text) => {
  expect(formatUptime(ms)).toBe(text);
});

test.each([
  [0, '0b'],
  [1023, '1023b'],
  [1024, '1.0kb'],
  [47_300_000, '45.1mb'],
  [3 * 1024 ** 3, '3.0gb'],
])('formatBytes(%d) is %j', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
