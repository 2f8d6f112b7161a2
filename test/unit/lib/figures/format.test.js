import { expect, test } from 'vitest';
import {
  formatBytes,
  formatCount,
  formatDelay,
  formatPercent,
  formatRate,
  formatUptime,
} from '../../../../lib/figures/format.js';

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

test.each([
  [formatPercent(0), '0.0%'],
  [formatPercent(104.23), '104.2%'],
  [formatRate(12_345), '12.3k'],
  [formatRate(1.23), '1.2'],
  [formatRate(120.4), '120'],
  [formatDelay(0.4), '0.4ms'],
  [formatDelay(12.7), '13ms'],
  [formatDelay(9), '9ms'],
  [formatDelay(1_234), '1.2s'],
  [formatCount(1, 'line'), '1 line'],
  [formatCount(999, 'line'), '999 lines'],
  [formatCount(1_234_567, 'crash', 'crashes'), '1,234,567 crashes'],
])('a figure is shown as %s', (shown, expected) => {
  expect(shown).toBe(expected);
});
