import { expect, test } from 'vitest';
import { parseMoment } from '../../../../../lib/config/options/log-query.js';

const NOW = new Date(2026, 10, 21, 0, 30, 0).getTime();
const local = (...parts) =>
  new Date(parts[0], parts[1], parts[2], parts[3] ?? 0, parts[4] ?? 0, parts[5] ?? 0, parts[6] ?? 0).getTime();

test.each([
  ['2h', NOW - 7_200_000],
  ['30m', NOW - 1_800_000],
  ['1.5s', NOW - 1_500],
  ['5000', NOW - 5_000],
  ['0', NOW],
  [' 1d ', NOW - 86_400_000],
  ['1763735400000', 1_763_735_400_000],
  ['00:10', local(2026, 10, 21, 0, 10)],
  ['0:10:05', local(2026, 10, 21, 0, 10, 5)],
  ['23:50', local(2026, 10, 20, 23, 50)],
  ['00:30', NOW],
  ['2026-11-20', local(2026, 10, 20)],
  ['2026-11-20T14:30', local(2026, 10, 20, 14, 30)],
  ['2026-11-20 14:30:05', local(2026, 10, 20, 14, 30, 5)],
  ['2026-11-20T14:30:05.250Z', Date.UTC(2026, 10, 20, 14, 30, 5, 250)],
  ['2026-11-20T14:30+02:00', Date.UTC(2026, 10, 20, 12, 30)],
  ['2026-11-20t14:30+0200', Date.UTC(2026, 10, 20, 12, 30)],
  ['2028-02-29', local(2028, 1, 29)],
])('parseMoment reads %s', (text, ms) => {
  expect(parseMoment(text, NOW)).toBe(ms);
});

test.each([
  [''],
  ['yesterday'],
  ['25:00'],
  ['12:60'],
  ['2026-13-01'],
  ['2026-02-31'],
  ['2027-02-29'],
  ['2026-11-21T25:00'],
  ['2026-11-21Z'],
  ['-2h'],
  ['2 weeks'],
  ['99999999999999999999'],
  ['11/21/2026'],
])('parseMoment refuses %j', (text) => {
  expect(parseMoment(text, NOW)).toBe(null);
});
