import { expect, test } from 'vitest';
import { createDateFormat } from '../../../../daemon/control/logs/format.js';

const atMs = new Date(2026, 10, 21, 14, 3, 9, 45).getTime();

test.each([
  ['YYYY-MM-DDTHH:mm:ss', '2026-11-21T14:03:09'],
  ['YYYY-MM-DD HH:mm:ss.SSS', '2026-11-21 14:03:09.045'],
  ['ddd D MMM YY, h:mm A', 'Sat 21 Nov 26, 2:03 PM'],
  ['[YYYY] HH [SSS]', 'YYYY 14 SSS'],
])('the format %j writes %j', (format, text) => {
  expect(createDateFormat(format)(atMs)).toBe(text);
});

test.each([
  ['ss', ['09', '09', '10', '09']],
  ['ss.SSS', ['09.045', '09.999', '10.000', '09.045']],
  ['ss [SSS]', ['09 SSS', '09 SSS', '10 SSS', '09 SSS']],
])('every change that %j shows is shown, even after a clock was set back', (format, texts) => {
  const dateOf = createDateFormat(format);
  expect([atMs, atMs + 954, atMs + 955, atMs].map(dateOf)).toEqual(texts);
});
