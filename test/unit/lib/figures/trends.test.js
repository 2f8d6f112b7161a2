import { expect, test } from 'vitest';
import { addToSparks, emptyTrend, extendTrend, mergeHistory, timesOf } from '../../../../lib/figures/trends.js';
import { sample, worker } from '../../control/web/page/samples.js';

const shown = (trend) => timesOf(trend).map((time, at) => [time, trend.series.cpu[at]]);
const history = (endMs, cpu) => [
  { stepMs: 1_000, endMs, points: cpu.length, workers: [], apps: [], host: null },
  { cpu },
];

test('a history has the known values, and ticks follow it', () => {
  const trend = mergeHistory(emptyTrend(1_000), ...history(10_000, [null, null, 3, 4]));
  expect(shown(extendTrend(trend, 11_000, worker({ cpu: 5 })))).toEqual([
    [7_000, null],
    [8_000, null],
    [9_000, 3],
    [10_000, 4],
    [11_000, 5],
  ]);
});

test('ticks that arrived before the history are kept', () => {
  const ticked = extendTrend(extendTrend(emptyTrend(1_000), 10_000, worker({ cpu: 4 })), 11_000, worker({ cpu: 5 }));
  expect(shown(mergeHistory(ticked, ...history(10_000, [3, 4])))).toEqual([
    [9_000, 3],
    [10_000, 4],
    [11_000, 5],
  ]);
});

test('a manager that starts again does not remove the values of the page', () => {
  const seen = extendTrend(extendTrend(emptyTrend(1_000), 10_000, worker({ cpu: 4 })), 11_000, worker({ cpu: 5 }));
  expect(shown(mergeHistory(seen, ...history(15_000, [null, null, null, 9])))).toEqual([
    [10_000, 4],
    [11_000, 5],
    [12_000, null],
    [13_000, null],
    [14_000, null],
    [15_000, 9],
  ]);
});

test('missing ticks are a gap, a repeated tick is not, and old points are dropped', () => {
  let trend = extendTrend(emptyTrend(1_000), 1_000, worker({ cpu: 1 }));
  trend = extendTrend(extendTrend(trend, 5_000, worker({ cpu: 2 })), 5_000, worker({ cpu: 3 }));
  expect(shown(trend)).toEqual([
    [1_000, 1],
    [2_000, null],
    [3_000, null],
    [4_000, null],
    [5_000, 2],
  ]);
  for (let at = 6; at < 1_000; at++) trend = extendTrend(trend, at * 1_000, worker());
  expect(timesOf(trend)).toHaveLength(600);
  expect(trend.series.memoryBytes).toHaveLength(600);
});

test('a series that was not asked for has gaps, and a history of other steps is aligned', () => {
  const seen = mergeHistory(emptyTrend(10_000), ...history(100_000, [1, 2, 3]));
  expect(seen.series.memoryBytes).toEqual([null, null, null]);
  expect(shown(mergeHistory(seen, ...history(120_004, [3, null, 5])))).toEqual([
    [80_004, 1],
    [90_004, 2],
    [100_004, 3],
    [110_004, null],
    [120_004, 5],
  ]);
});

test('sparks have gaps for missed seconds, take the history as it is, and forget removed apps', () => {
  const first = addToSparks(new Map(), { sample: sample([worker(), worker({ id: 1, name: 'b' })], 1_000) });
  const next = addToSparks(first, { sample: sample([worker({ cpu: 7 })], 4_000) }, 1_000);
  expect(next.get('app api')).toEqual([1, null, null, 7]);
  expect(next.has('app b')).toBe(false);
  const known = { workers: [], apps: [{ name: 'api', series: { cpu: [2, 3] } }], host: { cpu: [4] } };
  const after = addToSparks(next, { sample: sample([worker({ cpu: 3 })], 5_000), history: known }, 4_000);
  expect([after.get('app api'), after.get('host'), after.get('worker 0')]).toEqual([
    [2, 3],
    [4],
    [1, null, null, 7, 3],
  ]);
});
