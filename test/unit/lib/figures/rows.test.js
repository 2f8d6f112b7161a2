import { describe, expect, test } from 'vitest';
import { listRows, mergeStatus, uptimeText } from '../../../../lib/figures/rows.js';
import { sample, worker } from '../../control/web/page/samples.js';

const keys = (o) => listRows(o).map(({ key }) => key);
const of = (name, count, from = 0) =>
  Array.from({ length: count }, (_, slot) => worker({ id: from + slot, name, slot }));

describe('the rows of apps', () => {
  test('an app of one worker is one row; several workers are below it, and many are hidden', () => {
    const one = sample([...of('many', 9, 10), ...of('one', 1), ...of('two', 2, 1)]);
    expect(keys({ sample: one })).toEqual(['app many', 'app one', 'app two', 'worker 1', 'worker 2']);
    expect(listRows({ sample: one }).map(({ isExpanded }) => isExpanded)).toEqual([false, null, true, null, null]);
  });

  test('the user can show many workers and hide a few', () => {
    const both = sample([...of('many', 9, 10), ...of('two', 2)]);
    expect(keys({ sample: both, flipped: new Set(['many', 'two']) })).toEqual([
      'app many',
      ...Array.from({ length: 9 }, (_, at) => `worker ${10 + at}`),
      'app two',
    ]);
  });

  test.each([
    ['cpu', ['app b', 'app a', 'app c']],
    ['memory', ['app a', 'app c', 'app b']],
    ['requests', ['app c', 'app a', 'app b']],
    ['latency', ['app c', 'app a', 'app b']],
    ['delay', ['app b', 'app a', 'app c']],
    ['restarts', ['app c', 'app a', 'app b']],
    ['uptime', ['app c', 'app a', 'app b']],
    ['status', ['app b', 'app a', 'app c']],
    ['name', ['app a', 'app b', 'app c']],
  ])('the rows of apps are sorted by %s, and in reverse', (field, expected) => {
    const apps = sample([
      worker({ id: 1, name: 'a', memoryBytes: 30, startedAtMs: 2_000 }),
      worker({
        id: 2,
        name: 'b',
        cpu: 9,
        delayP99Ms: 50,
        memoryBytes: 1,
        status: 'errored',
        startedAtMs: null,
        pid: 0,
      }),
      worker({
        id: 3,
        name: 'c',
        http: { requestsPerS: 5, latencyP99Ms: 3 },
        restarts: 2,
        delayP99Ms: null,
        cpu: 0.5,
        memoryBytes: 20,
      }),
    ]);
    expect(keys({ sample: apps, sort: { field, isReversed: false } })).toEqual(expected);
    // Equal rows are sorted by name, in both directions.
    expect(keys({ sample: apps, sort: { field, isReversed: true } }).at(-1)).toBe(expected[0]);
  });

  test('the rows below an app are in reverse order, too, if they are sorted by name', () => {
    const sort = { field: 'name', isReversed: true };
    expect(keys({ sample: sample(of('api', 2)), sort })).toEqual(['app api', 'worker 1', 'worker 0']);
  });

  test('the rows of apps keep a held order, and new rows are inserted', () => {
    const held = new Map([
      ['app a', 0],
      ['app b', 1],
    ]);
    const apps = sample([
      worker({ id: 1, name: 'a' }),
      worker({ id: 2, name: 'b', cpu: 9 }),
      worker({ id: 3, name: 'c', cpu: 50 }),
    ]);
    expect(keys({ sample: apps, sort: { field: 'cpu', isReversed: false }, held })).toEqual([
      'app c',
      'app a',
      'app b',
    ]);
  });

  test.each([
    [' AP ', ['app api', 'worker 0', 'worker 1']],
    ['101', ['app api', 'worker 1']],
    ['errored', ['app job']],
    ['shop', ['app job']],
    ['nothing', []],
  ])('the rows of apps are filtered by "%s"', (filter, expected) => {
    expect(
      keys({
        sample: sample([
          worker(),
          worker({ id: 1, slot: 1 }),
          worker({ id: 7, name: 'job', namespace: 'shop', status: 'errored', pid: 0 }),
        ]),
        filter,
      }),
    ).toEqual(expected);
  });
});

test.each([
  [['online', 'stopped'], 'online'],
  [['stopped', 'launching'], 'launching'],
  [['stopping', 'launching'], 'launching'],
  [['online', 'waiting restart', 'errored'], 'errored'],
  [['online', 'of a newer manager'], 'online'],
  [[], 'stopped'],
])('an app whose workers are %j is %s', (states, status) => {
  expect(mergeStatus(states.map((one) => ({ status: one })))).toBe(status);
});

test('the uptime of an app is that of its oldest process', () => {
  const workers = [
    worker({ startedAtMs: 9_000 }),
    worker({ startedAtMs: 4_000 }),
    worker({ startedAtMs: 1_000, pid: 0 }),
    worker({ startedAtMs: null }),
  ];
  expect(uptimeText(workers, 10_000)).toBe('6s');
  expect(uptimeText(workers.slice(2), 10_000)).toBe('');
});

test('the uptime counts since the first instance was ready, and from the start for an earlier manager', () => {
  const one = { pid: 7, startedAtMs: 1_000 };
  expect(
    uptimeText(
      [
        { ...one, onlineSinceMs: 15_000 },
        { ...one, onlineSinceMs: 25_000 },
      ],
      30_000,
    ),
  ).toBe('15s');
  expect(uptimeText([{ ...one, onlineSinceMs: null }], 30_000)).toBe('');
  expect(uptimeText([one], 31_000)).toBe('30s');
});
