import { describe, expect, test } from 'vitest';
import { describeIllness, judgeHealth } from '../../../../daemon/control/health/verdict.js';

const NOW = 1_800_000_000_000;
const S = 1_000;

const worker = (at, o = {}) => ({
  instanceId: `i${at}`,
  status: 'online',
  isNode: true,
  cpu: 3,
  reportAgeMs: 400,
  poolWaitMs: 0,
  wallTimes: 0,
  unansweredMs: 100,
  activity: 'computes',
  frame: null,
  http: { activeRequests: 1 },
  ...o,
});

const patient = (at, { isBooted = true, isInspected = false, hasInput = false, isInDiskWait = false, ...o } = {}) => ({
  worker: worker(at, o),
  ...{ isBooted, isInspected, hasInput, isInDiskWait },
});

/** Four workers, of which the first ones have these faults. */
const app = (faults, { count = 4, ...o } = {}) => ({
  patients: Array.from({ length: count }, (_, at) => patient(at, faults[at])),
  wanted: count,
  isCluster: true,
  hangTimeoutMs: null,
  asked: new Map(),
  replaced: 0,
  ...o,
});

const blocked = (ms = 20 * S, o = {}) => ({ reportAgeMs: ms, ...o });
/** From the start of control, an hour ago. */
const judge = (one, signs = new Map(), nowMs = NOW) => judgeHealth(one, { signs, fromMs: NOW - 3_600 * S }, nowMs);
const verdictOf = (one, ...more) => judge(one, ...more).verdicts.get('i0') ?? null;

test('an app without a sign has no verdict', () => {
  expect(judge(app([]))).toEqual({ signs: new Map(), verdicts: new Map() });
});

const SIGNS = [
  ['a blocked event loop', blocked(), NOW - 20 * S, 'hung for 20s'],
  [
    'a blocked event loop with its code',
    blocked(31 * S, { frame: { where: 'render (report.js:31)', atMs: 0, stack: [] } }),
    NOW - 31 * S,
    'hung for 31s in render (report.js:31)',
  ],
  ['a full thread pool', { poolWaitMs: 6 * S, activity: 'waits' }, NOW - 6 * S, 'had a full thread pool for 6s'],
  ['a full heap', { wallTimes: 2 }, NOW, 'had nearly no heap left'],
];

test.each(SIGNS)('%s of one of four is replaced 30s after it began', (_, fault, sinceMs, words) => {
  const own = app([fault]);
  expect(verdictOf(own)).toEqual({ atMs: sinceMs + 30 * S });
  expect(describeIllness(own.patients[0].worker, NOW)).toBe(words);
});

const HELD = [
  ['a signal stops it', [blocked(20 * S, { activity: 'stopped' })], 'machine'],
  ['it waits for a disk', [blocked(20 * S, { activity: 'disk' })], 'machine'],
  ['it gets no CPU', [blocked(20 * S, { activity: 'no-cpu' })], 'machine'],
  ['a debugger is attached', [blocked(20 * S, { isInspected: true })], 'inspected'],
  ['its main module is loaded', [blocked(20 * S, { isBooted: false })], 'loading'],
  ['a thread of its pool waits for a disk', [{ poolWaitMs: 20 * S, isInDiskWait: true }], 'machine'],
  ['half of the workers show the same', [blocked(), blocked()], 'shared'],
  ['all show the same', [blocked(), blocked(), blocked(), blocked()], 'shared'],
  ['no request waits', [blocked(20 * S, { http: { activeRequests: 0 } })], 'harmless'],
  ['it has never served', [blocked(20 * S, { http: null })], 'harmless'],
];

test.each(HELD)('an instance is not replaced if %s', (_, faults, held) => {
  expect(verdictOf(app(faults))).toEqual({ held });
});

const HARMFUL = [
  ['a request is open', blocked(20 * S)],
  ['a client has sent data', blocked(20 * S, { http: { activeRequests: 0 }, hasInput: true })],
  [
    'its code handles a request',
    blocked(20 * S, {
      http: null,
      frame: {
        where: null,
        atMs: NOW - 5 * S,
        stack: ['render (report.js:31)', 'parserOnIncoming (node:_http_server:1:1)'],
      },
    }),
  ],
  ['it serves at its memory wall', { wallTimes: 2, http: { activeRequests: 0 } }],
];

test.each(HARMFUL)('an instance is harmful if %s', (_, fault) => {
  expect(verdictOf(app([fault]))).toHaveProperty('atMs');
});

const LIMITS = [
  ['one of two in cluster mode', { count: 2 }, 30 * S],
  ['the only one', { count: 1 }, null],
  ['the only one, with a limit', { count: 1, hangTimeoutMs: 5 * S }, 5 * S],
  ['fork mode', { isCluster: false }, null],
  ['fork mode, with a limit', { isCluster: false, hangTimeoutMs: 60 * S }, 60 * S],
  ['a limit of 0', { hangTimeoutMs: 0 }, null],
];

test.each(LIMITS)('the time limit: %s', (_, o, limitMs) => {
  expect(verdictOf(app([blocked()], o))).toEqual(limitMs === null ? null : { atMs: NOW - 20 * S + limitMs });
});

const BRAKES = [
  ['one of four', { replaced: 1 }, true],
  ['one of six', { replaced: 1, count: 6 }, false],
  ['two of six', { replaced: 2, count: 6 }, true],
  ['another one is asked for', { asked: new Map([['i3', { hasFailed: false }]]) }, true],
  ['itself is asked for', { asked: new Map([['i0', { hasFailed: false }]]) }, false],
];

test.each(BRAKES)('the brake after replacements: %s', (_, o, isBraked) => {
  const verdict = verdictOf(app([blocked()], o));
  if (isBraked) expect(verdict).toEqual({ held: 'brake' });
  else expect(verdict).toHaveProperty('atMs');
});

test('a worker that is down counts as one with the same fault', () => {
  expect(verdictOf(app([blocked()], { wanted: 6 }))).toEqual({ held: 'shared' });
  expect(verdictOf(app([blocked()], { count: 1, wanted: 2 }))).toEqual({ held: 'shared' });
  expect(verdictOf(app([blocked()], { wanted: 5 }))).toHaveProperty('atMs');
});

test('an instance whose replacement has failed is not replaced for now', () => {
  expect(verdictOf(app([blocked()], { asked: new Map([['i0', { hasFailed: true }]]) }))).toEqual({ held: 'failed' });
});

test('a block that ends and begins again between two looks counts from its beginning', () => {
  const first = judge(app([blocked(25 * S)]));
  expect(judge(app([blocked(5 * S)]), first.signs, NOW + 3 * S).verdicts.get('i0')).toEqual({ atMs: NOW + 28 * S });
});

test('the time before this control does not count', () => {
  const { verdicts } = judgeHealth(app([blocked(60 * S)]), { signs: new Map(), fromMs: NOW - S }, NOW);
  expect(verdicts.get('i0')).toEqual({ atMs: NOW + 29 * S });
});

test('a full heap counts from when it was found', () => {
  const first = judge(app([{ wallTimes: 2 }]));
  expect(judge(app([{ wallTimes: 2 }]), first.signs, NOW + 20 * S).verdicts.get('i0')).toEqual({ atMs: NOW + 30 * S });
});

describe('an excuse', () => {
  test('the time of an excuse does not count when it is over', () => {
    const stopped = judge(app([blocked(60 * S, { activity: 'stopped' })]));
    expect(stopped.signs.get('i0')).toEqual({ kind: 'loop-blocked', sinceMs: NOW, seenMs: NOW });
    const goesOn = judge(app([blocked(61 * S)]), stopped.signs, NOW + S);
    expect(goesOn.verdicts.get('i0')).toEqual({ atMs: NOW + 30 * S });
  });

  test('the time before an excuse counts', () => {
    const first = judge(app([blocked(20 * S)]));
    const starved = judge(app([blocked(22 * S, { activity: 'no-cpu' })]), first.signs, NOW + 2 * S);
    expect(starved.verdicts.get('i0')).toEqual({ held: 'machine' });
    const goesOn = judge(app([blocked(23 * S)]), starved.signs, NOW + 3 * S);
    expect(goesOn.verdicts.get('i0')).toEqual({ atMs: NOW - 20 * S + 2 * S + 30 * S });
  });

  test('the first look at a blocked instance decides nothing', () => {
    const first = judge(app([blocked(60 * S, { activity: null })]));
    expect([first.verdicts.size, first.signs.get('i0').sinceMs]).toEqual([0, NOW - 60 * S]);
  });

  test('the time of an excuse does not count for another sign', () => {
    const stopped = judge(app([blocked(60 * S, { activity: 'stopped' })]));
    const other = judge(app([{ poolWaitMs: 50 * S }]), stopped.signs, NOW + S);
    expect(other.verdicts.get('i0')).toEqual({ atMs: NOW + 30 * S });
  });
});
