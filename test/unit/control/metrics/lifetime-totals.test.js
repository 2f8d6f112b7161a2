import { expect, test } from 'vitest';
import { createRequire } from 'node:module';
import { stepEndMs, LATENCY_STEPS, noLatencies, percentiles } from '../../../../daemon/control/metrics/latency.js';
import {
  createReports,
  readGauges,
  computeRates,
  recentLatencies,
} from '../../../../daemon/control/metrics/reports.js';
import { keepServed, addTotals } from '../../../../daemon/control/metrics/lifetime-totals.js';
import { newSlotHistory } from '../../../../daemon/control/state/slot-history.js';

const http = (more = {}) => ({
  requests: 10,
  active: 1,
  aborted: 2,
  upgrades: 3,
  responses: [0, 5, 0, 1, 1],
  durationMs: 100,
  latency: [4, 7],
  ...more,
});
const report = (seq, more = {}) => ({
  seq,
  atMono: seq * 1_000,
  elu: 0.5,
  delayMs: [1, 2, 3],
  gcMs: seq * 10,
  http: http(),
  ...more,
});

test('the answers of an instance stay counted when it has exited, and are counted only once', () => {
  const memory = newSlotHistory();
  keepServed(memory, 'one', report(1));
  keepServed(memory, 'one', report(1));
  keepServed(memory, 'two', report(1));
  expect(memory.served).toMatchObject({
    from: ['one', 'two'],
    requests: 20,
    aborted: 6,
    upgrades: 6,
    responses: [0, 10, 0, 2, 2],
    durationMs: 200,
    latency: [4, 14],
  });
});

test('an instance that served nothing, or had no agent, leaves no trace', () => {
  const memory = newSlotHistory();
  for (const none of [null, undefined, { seq: 1 }, { http: null }]) keepServed(memory, 'one', none);
  expect('served' in memory).toBe(false);
});

test('sums are numbers, whatever a process reports', () => {
  const memory = newSlotHistory();
  keepServed(memory, 'one', {
    http: { requests: 'many', responses: [1, null, {}], latency: [999, 5, -1, 2, 'x'], durationMs: NaN },
  });
  const sum = addTotals(memory.served, []);
  expect(sum).toMatchObject({ requests: 0, durationMs: 0 });
  expect(sum.responses.every(Number.isFinite)).toBe(true);
  expect(Object.keys(sum.latency)).toHaveLength(LATENCY_STEPS);
});

test('counts are whole, not negative, and stay in the 64 bits of OTLP over any number of restarts', () => {
  const memory = newSlotHistory();
  const huge = Number.MAX_SAFE_INTEGER;
  const counts = { requests: -5, active: -1, aborted: 0.5, upgrades: 1e300 };
  const latency = Array.from({ length: 2 * LATENCY_STEPS }, (_, at) => (at % 2 === 0 ? 4 : huge));
  for (let restart = 0; restart < 2_000; restart += 1)
    keepServed(memory, `i${restart}`, {
      http: http({ ...counts, responses: [-1, 0.5, huge, huge, -huge], durationMs: -1, latency }),
    });
  expect(memory.served).toMatchObject({ requests: 0, aborted: 0, upgrades: 0, durationMs: 0 });
  expect(memory.served?.responses).toEqual([0, 0, huge, huge, 0]);
  expect(addTotals(memory.served ?? null, []).latency[4]).toBe(huge);
});

test('gauges of a process that reports nonsense are finite and not negative', () => {
  const reports = createReports();
  reports.take(
    { one: report(1, { elu: 7, heapUsedBytes: -1, handles: -3, delayMs: [-1, Infinity, 'x'], gcMs: -9 }) },
    0,
  );
  expect(readGauges(reports.of('one'), 0)).toMatchObject({
    elu: 1,
    heapUsedBytes: 0,
    handles: 0,
    delayP50Ms: 0,
    delayP99Ms: 0,
    delayMaxMs: 0,
    gcMsPerS: 0,
  });
});

test('rates are differences of sums by the clock of the process itself', () => {
  const reports = createReports();
  reports.take({ one: report(1) }, 1_000);
  reports.take({ one: report(2, { atMono: 3_000, http: http({ requests: 30, responses: [0, 5, 0, 1, 5] }) }) }, 3_500);
  const track = reports.of('one');
  expect(computeRates(track, 3_500)).toEqual({ requestsPerS: 10, errorsPerS: 2 });
  expect(readGauges(track, 3_500)).toMatchObject({
    elu: 0.5,
    delayP50Ms: 1,
    delayMaxMs: 3,
    gcMsPerS: 5,
    reportAgeMs: 0,
  });
});

test('a blocked loop is noticed before it runs again', () => {
  const reports = createReports();
  reports.take({ one: report(1) }, 1_000);
  reports.take({ one: report(1) }, 6_000);
  expect(readGauges(reports.of('one'), 6_000)).toMatchObject({
    elu: 1,
    delayP50Ms: 1,
    delayP99Ms: 5_000,
    delayMaxMs: 5_000,
    reportAgeMs: 5_000,
  });
  expect(computeRates(reports.of('one'), 6_000)).toEqual({ requestsPerS: 0, errorsPerS: 0 });
});

test('an instance that is no longer reported is forgotten', () => {
  const reports = createReports();
  reports.take({ one: report(1) }, 1_000);
  reports.take({}, 2_000);
  expect(reports.of('one')).toBe(null);
});

const latencyCounts = (track, nowMs) => recentLatencies([track], nowMs).reduce((sum, count) => sum + count, 0);

test('latencies are those of the last ten seconds', () => {
  const reports = createReports();
  for (let seq = 1; seq <= 20; seq += 1)
    reports.take({ one: report(seq, { http: http({ latency: [0, seq] }) }) }, seq * 1_000);
  expect(latencyCounts(reports.of('one'), 20_000)).toBe(10);
});

test('there are no latencies after ten seconds without a response, however seldom a quiet process reports', () => {
  const reports = createReports();
  const take = (seq, ms, count) =>
    reports.take({ one: report(seq, { atMono: ms, nextMs: 5_000, http: http({ latency: [0, count] }) }) }, ms);
  take(1, 1_000, 4);
  expect(latencyCounts(reports.of('one'), 1_000)).toBe(4);
  take(2, 6_000, 4);
  expect(latencyCounts(reports.of('one'), 10_999)).toBe(4);
  expect(latencyCounts(reports.of('one'), 11_000)).toBe(0);
  take(3, 12_000, 5);
  expect(latencyCounts(reports.of('one'), 12_000)).toBe(1);
  expect(latencyCounts(reports.of('one'), 22_000)).toBe(0);
});

test('a control that starts later counts no latencies from before its start', () => {
  const reports = createReports();
  reports.take({ one: report(100, { http: http({ latency: [0, 50] }) }) }, 1_000);
  expect(latencyCounts(reports.of('one'), 1_000)).toBe(0);
  reports.take({ one: report(101, { http: http({ latency: [0, 53] }) }) }, 2_000);
  expect(latencyCounts(reports.of('one'), 2_000)).toBe(3);
});

test('a control that starts during a block finds out when the block began', () => {
  const reports = createReports();
  const take = (ms) => reports.take({ one: report(30) }, ms, () => 100_000);
  take(150_000);
  const ageMs = (ms) => readGauges(reports.of('one'), ms).reportAgeMs;
  // Another report may still come, so the block is not certain.
  expect(ageMs(152_000)).toBe(2_000);
  take(154_000);
  expect(ageMs(154_000)).toBe(24_000);
  reports.take({ one: report(31) }, 155_000, () => 100_000);
  expect([ageMs(155_000), ageMs(160_000)]).toEqual([0, 5_000]);
});

test('facts that an agent does not report are not known', () => {
  const reports = createReports();
  reports.take({ old: report(1), one: report(1, { poolWaitMs: 0, oldSpaceUsedBytes: null, majorGcs: 0 }) }, 0);
  const facts = (id) => {
    const { poolWaitMs, oldSpaceUsedBytes, majorGcs, oldSpaceLimitBytes } = readGauges(reports.of(id), 0);
    return [poolWaitMs, oldSpaceUsedBytes, majorGcs, oldSpaceLimitBytes];
  };
  expect([facts('old'), facts('one')]).toEqual([
    [null, null, null, null],
    [0, null, 0, null],
  ]);
});

test('percentiles are within a fifth of the truth', () => {
  const steps = noLatencies();
  const stepOf = (ms) => Array.from(steps.keys()).find((step) => stepEndMs(step) >= ms);
  for (let ms = 1; ms <= 1_000; ms += 1) steps[stepOf(ms)] += 1;
  const [p50, p95, p99] = percentiles(steps, [0.5, 0.95, 0.99]);
  expect(Math.abs(p50 / 500 - 1)).toBeLessThan(0.05);
  expect(Math.abs(p95 / 950 - 1)).toBeLessThan(0.1);
  expect(Math.abs(p99 / 990 - 1)).toBeLessThan(0.1);
  expect(percentiles(noLatencies(), [0.5])).toEqual([null]);
});

test('agent and control use the same steps for latencies', () => {
  const { findStep } = createRequire(import.meta.url)('../../../../daemon/agent/http-counts.cjs');
  expect([0, 0.125, stepEndMs(12), stepEndMs(12) + 0.001, 1e9].map(findStep)).toEqual([
    0,
    0,
    12,
    13,
    LATENCY_STEPS - 1,
  ]);
});
