import { expect, test } from 'vitest';
import { formatDuration, parseBytes, parseDuration } from '../../../../lib/shared/units.js';

test.each([
  ['0', 0],
  ['1500', 1_500],
  [1500, 1_500],
  ['350ms', 350],
  ['10s', 10_000],
  ['1.5s', 1_500],
  ['2m', 120_000],
  ['1h', 3_600_000],
  ['1d', 86_400_000],
  ['3 s', 3_000],
  ['5S', 5_000],
  ['', null],
  ['s', null],
  ['-1', null],
  ['1w', null],
  ['ten', null],
  ['1e3', null],
  ['1 2', null],
  ['99999999999999999999', null],
  ['0x10', null],
  ['NaN', null],
])('parseDuration(%j) is %j', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each([
  ['0', 0],
  ['1024', 1024],
  ['1K', 1024],
  ['1kb', 1024],
  ['256M', 268_435_456],
  ['256mb', 268_435_456],
  ['256MiB', 268_435_456],
  ['1.5G', 1_610_612_736],
  ['10b', 10],
  ['', null],
  ['mb', null],
  ['-1M', null],
  ['1T', null],
  ['lots', null],
  ['99999999999G', null],
])('parseBytes(%j) is %j', (text, bytes) => {
  expect(parseBytes(text)).toBe(bytes);
});

test.each([
  [0, '0ms'],
  [350, '350ms'],
  [999.4, '999ms'],
  [999.6, '1s'],
  [1_000, '1s'],
  [1_550, '1.5s'],
  [59_999, '59.9s'],
  [60_000, '1m'],
  [90_000, '1m 30s'],
  [3_600_000, '1h'],
  [3_900_000, '1h 5m'],
  [90_000_000, '1d 1h'],
])('formatDuration(%d) is %j', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});
