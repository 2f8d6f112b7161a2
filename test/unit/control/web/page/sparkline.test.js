import { expect, test } from 'vitest';
import { emptyTrend, addHistory, addSample } from '../../../../../daemon/control/web/page/sparkline.js';
import { worker } from './samples.js';

const shown = ({ times, series }) => times.map((time, at) => [time, series.cpu[at]]);
const history = (endMs, cpu) => [
  { stepMs: 1_000, endMs, points: cpu.length, workers: [], apps: [], host: null },
  { cpu },
];

test('a history has the known values, and ticks follow it', () => {
  const trend = addHistory(emptyTrend(1_000), ...history(10_000, [null, null, 3, 4]));
  expect(shown(addSample(trend, 11_000, worker({ cpu: 5 })))).toEqual([
    [9_000, 3],
    [10_000, 4],
    [11_000, 5],
  ]);
});

test('ticks that arrived before the history are kept', () => {
  const ticked = addSample(addSample(emptyTrend(1_000), 10_000, worker({ cpu: 4 })), 11_000, worker({ cpu: 5 }));
  expect(shown(addHistory(ticked, ...history(10_000, [3, 4])))).toEqual([
    [9_000, 3],
    [10_000, 4],
    [11_000, 5],
  ]);
});

test('a manager that starts again does not remove the values of the page', () => {
  const seen = addSample(addSample(emptyTrend(1_000), 10_000, worker({ cpu: 4 })), 11_000, worker({ cpu: 5 }));
  expect(shown(addHistory(seen, ...history(15_000, [null, null, null, 9])))).toEqual([
    [10_000, 4],
    [11_000, 5],
    [12_000, null],
    [15_000, 9],
  ]);
});

test('missing ticks are a gap, a repeated tick is not, and old points are dropped', () => {
  let trend = addSample(emptyTrend(1_000), 1_000, worker({ cpu: 1 }));
  trend = addSample(addSample(trend, 5_000, worker({ cpu: 2 })), 5_000, worker({ cpu: 3 }));
  expect(shown(trend)).toEqual([
    [1_000, 1],
    [2_000, null],
    [5_000, 2],
  ]);
  for (let at = 6; at < 1_000; at++) trend = addSample(trend, at * 1_000, worker());
  expect(trend.times).toHaveLength(600);
  expect(trend.series.memoryBytes).toHaveLength(600);
});
