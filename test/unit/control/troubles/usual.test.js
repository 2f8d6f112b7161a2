import { expect, test } from 'vitest';
import { createHttpReader } from '../../../../daemon/control/troubles/usual.js';

const MINUTE_MS = 60_000;

/** A history in which each app has the same points. */
function reader({ hour = [], now = 0 }) {
  const asked = [];
  const clock = { nowMs: now };
  const history = ({ ids }) => {
    asked.push(ids.length);
    const series = { requestsPerS: hour, errorsPerS: hour.map((value) => value && value / 4), latencyP99Ms: hour };
    return { apps: ids.map((id) => ({ name: `app-${id}`, series })) };
  };
  const read = createHttpReader({ history }, () => clock.nowMs);
  const answered = { requests: 1000, errors: 0 };
  return { read: (given) => read(given, () => ({ ...answered })), answered, asked, clock };
}

const apps = (count) =>
  Array.from({ length: count }, (_, id) => ({ spec: { name: `app-${id}` }, slots: [{ id, slot: 0 }] }));

test('nothing is usual before ten minutes with requests', () => {
  const { read } = reader({ hour: [null, ...Array(59).fill(8)] });
  expect(read(apps(1)).get('app-0')).toEqual({
    ...{ requestsPerS: 0, errorsPerS: 0, hasAnswered: true, usualP99Ms: null, usualShare: null },
  });
});

test('the rates are the means of half a minute, also if answers come in bursts', () => {
  const { read, answered, clock } = reader({});
  const rates = [];
  for (let second = 0; second <= 60; second += 1) {
    clock.nowMs = second * 1000;
    if (second % 6 === 5) answered.requests += 12;
    if (second % 6 === 5) answered.errors += 3;
    const { requestsPerS, errorsPerS } = read(apps(1)).get('app-0');
    rates.push([requestsPerS, errorsPerS]);
  }
  expect(rates[0]).toEqual([0, 0]);
  expect(rates.slice(30)).toEqual(Array(31).fill([2, 0.5]));
  answered.requests = 0;
  expect(read(apps(1)).get('app-0')).toMatchObject({ requestsPerS: 0 });
});

test('the usual values are the medians of the points with requests', () => {
  const { read } = reader({ hour: [...Array(40).fill(2), ...Array(31).fill(900), null] });
  expect(read(apps(1)).get('app-0')).toMatchObject({ usualP99Ms: 2, usualShare: 0.25 });
});

test('the hour is read of ten apps at a time, and of each app once a minute', () => {
  const { read, asked, clock } = reader({ hour: Array(60).fill(8) });
  for (let tick = 0; tick < 5; tick += 1) read(apps(25));
  expect(asked).toEqual([10, 10, 5]);
  expect(read(apps(25)).get('app-24')).toMatchObject({ usualP99Ms: 8 });
  clock.nowMs += MINUTE_MS;
  read(apps(25));
  expect(asked).toEqual([10, 10, 5, 10]);
});

test('an app that has gone is forgotten', () => {
  const { read } = reader({ hour: Array(60).fill(8) });
  read(apps(1));
  expect(read([])).toEqual(new Map());
});
