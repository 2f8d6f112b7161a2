import { expect, test } from 'vitest';
import { rotationDue } from '../../../../../daemon/control/logs/write/open-file.js';

const at = (text) => new Date(text).getTime();

test.each([
  ['hourly', '2026-11-21T14:30:00', '2026-11-21T15:00:00'],
  ['hourly', '2026-12-31T23:59:59', '2027-01-01T00:00:00'],
  ['daily', '2026-11-21T14:30:00', '2026-11-22T00:00:00'],
  ['daily', '2026-11-21T00:00:00', '2026-11-22T00:00:00'],
  ['weekly', '2026-11-21T14:30:00', '2026-11-23T00:00:00'],
  ['weekly', '2026-11-23T00:00:00', '2026-11-30T00:00:00'],
  ['weekly', '2026-11-22T23:00:00', '2026-11-23T00:00:00'],
])('%s: a file started at %s is rotated at %s', (interval, startedAt, due) => {
  expect(new Date(rotationDue(interval, at(startedAt)))).toEqual(new Date(due));
});

test('a rotation set to never does not happen', () => {
  expect(rotationDue('never', 0)).toBe(Infinity);
});
