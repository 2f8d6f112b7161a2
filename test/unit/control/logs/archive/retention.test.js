import { expect, test } from 'vitest';
import { planRetention } from '../../../../../daemon/control/logs/archive/retention.js';

const NOW_MS = 1_000_000;
const NONE = { maxFiles: Infinity, maxAgeMs: Infinity, maxTotalBytes: Infinity };

/** A log file with segments of 10 bytes each, named by their age in seconds. */
const file = (ages, more = {}) => ({
  app: 'api',
  activeBytes: 5,
  isInHome: true,
  limits: NONE,
  ...more,
  segments: ages.map((age) => ({
    plainPath: `${more.app ?? 'api'}${age}`,
    endedAtMs: NOW_MS - age * 1_000,
    sizeBytes: 10,
  })),
});
const plan = (files, homeMaxTotalBytes = Infinity) =>
  planRetention(files, { homeMaxTotalBytes, nowMs: NOW_MS })
    .map(({ plainPath }) => plainPath)
    .sort();

test.each([
  ['without limits everything stays', [file([3, 2, 1])], Infinity, []],
  ['the newest files stay', [file([3, 1, 2], { limits: { ...NONE, maxFiles: 2 } })], Infinity, ['api3']],
  ['with 0 files none stays', [file([2, 1], { limits: { ...NONE, maxFiles: 0 } })], Infinity, ['api1', 'api2']],
  [
    'the number counts for each file',
    [file([3, 2], { limits: { ...NONE, maxFiles: 2 } }), file([5, 4], { limits: { ...NONE, maxFiles: 2 } })],
    Infinity,
    [],
  ],
  [
    'what is older than allowed goes',
    [file([30, 10, 20], { limits: { ...NONE, maxAgeMs: 20_000 } })],
    Infinity,
    ['api30'],
  ],
  ['a file from the future is not old', [file([-30], { limits: { ...NONE, maxAgeMs: 20_000 } })], Infinity, []],
  [
    'the total of an app counts active files, and the oldest go',
    [
      file([4, 2], { limits: { ...NONE, maxTotalBytes: 30 } }),
      file([3, 1], { limits: { ...NONE, maxTotalBytes: 30 } }),
    ],
    Infinity,
    ['api3', 'api4'],
  ],
  ['exactly full is not too full', [file([2, 1], { limits: { ...NONE, maxTotalBytes: 25 } })], Infinity, []],
  [
    'of different limits of one app the strictest counts',
    [file([2], { limits: { ...NONE, maxTotalBytes: 100 } }), file([1], { limits: { ...NONE, maxTotalBytes: 20 } })],
    Infinity,
    ['api2'],
  ],
  [
    'one app does not pay for another',
    [file([9, 8], { app: 'big', limits: { ...NONE, maxTotalBytes: 15 } }), file([10])],
    Infinity,
    ['big9'],
  ],
  [
    'the home takes the oldest of whatever app',
    [file([9, 1], { app: 'a' }), file([5, 4], { app: 'b' })],
    30,
    ['a9', 'b5'],
  ],
  [
    "files elsewhere are not the home's",
    [file([9, 8], { app: 'a', isInHome: false }), file([1], { app: 'b' })],
    15,
    [],
  ],
  [
    "what nobody writes to has only the home's limit",
    [file([9, 8], { app: 'gone', limits: null }), file([1])],
    20,
    ['gone8', 'gone9'],
  ],
  [
    'what goes for one reason does not count for the next',
    [file([3, 2, 1], { limits: { maxFiles: 2, maxAgeMs: Infinity, maxTotalBytes: 25 } })],
    25,
    ['api3'],
  ],
  [
    'active files never go, however full it is',
    [file([], { activeBytes: 500, limits: { ...NONE, maxTotalBytes: 1 } })],
    1,
    [],
  ],
  [
    'at the same moment they go in the order of their names',
    [file([1, 1.0], { app: 'b' }), file([1], { app: 'a' })],
    30,
    ['a1'],
  ],
])('%s', (_what, files, homeMaxTotalBytes, going) => {
  expect(plan(files, homeMaxTotalBytes)).toEqual(going);
});
