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
  const meanOf = (app, series, seconds) => (series === 'requestsPerS' ? 120 : 30) / seconds;
  return { read: createHttpReader({ history, meanOf }, () => clock.nowMs), asked, clock };
}

const apps = (count) =>
  Array.from({ length: count }, (_, id) => ({ spec: { name: `app-${id}` }, slots: [{ id, slot: 0 }] }));

test('the rates are the means of half a minute, and nothing is usual before ten minutes with requests', () => {
  const { read } = reader({ hour: [null, ...Array(59).fill(8)] });
  expect(read(apps(1)).get('app-0')).toEqual({
    requestsPerS: 4,
    errorsPerS: 1,
    hasAnswered: true,
    usualP99Ms: null,
    usualShare: null,
  });
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
