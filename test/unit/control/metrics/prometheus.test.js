import { beforeEach, expect, test } from 'vitest';
import { buildFamilies } from '../../../../daemon/control/metrics/families.js';
import { toOtlp } from '../../../../daemon/control/metrics/otlp.js';
import { expose } from '../../../../daemon/control/metrics/prometheus.js';
import { readPrometheus } from '../../../helpers/prometheus.js';
import { trouble } from '../../lib/slots.js';
import { createMetricsRig, reportOf } from './metrics-rig.js';

let rig;

beforeEach(async () => {
  rig = await createMetricsRig();
  const starting = rig.start({ instances: 2, name: 'a "name" \\ of its own', namespace: 'shop' });
  await rig.turn(20);
  await starting;
});

const ids = () => rig.keeper.alive.map(({ instanceId }) => instanceId);

async function families(troubles = []) {
  return buildFamilies(await rig.metrics.exported(), troubles, '1.2.3');
}

const read = async (troubles) => readPrometheus(expose(await families(troubles), false));

/** By instance. */
async function series(name) {
  return Object.fromEntries(
    (await read()).get(name)?.samples.map(({ labels, value }) => [labels.instance, value]) ?? [],
  );
}

test('an open trouble is a gauge of 1 with its app, kind and level, and is left out when it ends', async () => {
  expect((await read([trouble('slow', { level: 'warn' })])).get('nclust_trouble')).toMatchObject({
    type: 'gauge',
    samples: [{ labels: { app: 'api', kind: 'slow', level: 'warn' }, value: 1 }],
  });
  expect((await read()).has('nclust_trouble')).toBe(false);
});

test('the text for Prometheus is valid, with the labels of each slot', async () => {
  rig.keeper.reports.set(ids()[0], reportOf(10, { http: { ...reportOf(10).http, latency: [0, 1, 12, 3, 79, 1] } }));
  await rig.turn(1_000);
  const all = await read();
  expect(all.get('nclust_http_requests_total')).toMatchObject({
    type: 'counter',
    samples: [{ labels: { app: 'a "name" \\ of its own', instance: '0', namespace: 'shop' }, value: 10 }],
  });
  expect(all.get('nclust_worker_event_loop_delay_p99_seconds')).toMatchObject({
    type: 'gauge',
    samples: [{ value: 0.002 }],
  });
  expect(all.get('nclust_build_info').samples[0].labels).toEqual({ version: '1.2.3' });
  const buckets = all
    .get('nclust_http_request_duration_seconds')
    .samples.filter(({ name }) => name.endsWith('_bucket'));
  expect(
    buckets
      .filter(({ labels }) => labels.instance === '0')
      .map(({ labels, value }) => [labels.le, value])
      .filter(([le]) => ['0.0005', '0.001', '16.384', '+Inf'].includes(le)),
  ).toEqual([
    ['0.0005', 1],
    ['0.001', 4],
    ['16.384', 4],
    ['+Inf', 5],
  ]);
  expect(all.get('nclust_host_disk_size_bytes')).toBeUndefined();
});

test('the limit of descriptors is beside their number, and error lines are counted by app', async () => {
  rig.errorCounts.take('a "name" \\ of its own', Buffer.from('one\ntwo\n'));
  await rig.turn(1_000);
  expect([await series('nclust_worker_open_fds'), await series('nclust_worker_max_fds')]).toEqual([
    { 0: 3, 1: 3 },
    { 0: 1_024, 1: 1_024 },
  ]);
  expect((await read()).get('nclust_app_error_lines_total')).toMatchObject({
    type: 'counter',
    samples: [{ labels: { app: 'a "name" \\ of its own', namespace: 'shop' }, value: 2 }],
  });
});

test('a worker without answers is at zero, and a program without an agent has no value', async () => {
  const starting = rig.start({ name: 'job', kind: 'exec', mode: 'fork' });
  await rig.turn(20);
  await starting;
  for (const id of ids().slice(0, 2)) rig.keeper.reports.set(id, reportOf(0, { http: undefined }));
  await rig.turn(1_000);
  const { samples } = (await read()).get('nclust_http_requests_total');
  expect(samples.map(({ labels, value }) => [labels.app.slice(0, 3), value])).toEqual([
    ['a "', 0],
    ['a "', 0],
  ]);
});

test('series are the same after a restart and a reload, and counters do not fall', async () => {
  for (const id of ids()) rig.keeper.reports.set(id, reportOf(10));
  await rig.turn(1_000);
  const before = await series('nclust_http_requests_total');
  for (const command of ['restart', 'reload']) {
    const done = rig.call(command, { targets: ['all'] });
    await rig.turn(10_000);
    await done;
    const after = await series('nclust_http_requests_total');
    expect(Object.keys(after)).toEqual(Object.keys(before));
    for (const [instance, value] of Object.entries(after)) expect(value).toBeGreaterThanOrEqual(before[instance]);
  }
});

test('the CPU counter continues over a restart, a reload and the death of control', async () => {
  const used = new Map();
  rig.usage = (pid) => ({ cpu: 5, memoryBytes: 1_000, processes: 1, fds: 3, cpuMs: used.get(pid) ?? 100 });
  await rig.turn(1_000);
  let seconds = 0.1;
  expect(await series('nclust_worker_cpu_seconds_total')).toEqual({ 0: seconds, 1: seconds });
  for (const command of ['restart', 'reload']) {
    for (const { pid } of rig.keeper.alive) used.set(pid, 2_000);
    await rig.turn(1_000);
    const done = rig.call(command, { targets: ['all'] });
    await rig.turn(20_000);
    await done;
    seconds += 2;
    expect(await series('nclust_worker_cpu_seconds_total')).toEqual({ 0: seconds, 1: seconds });
  }
  await rig.boot();
  // The new control shows no value before the first measurement, because a smaller value would look
  // like a restart of the counter.
  expect((await read()).get('nclust_worker_cpu_seconds_total')).toBeUndefined();
  await rig.turn(1_000);
  expect(await series('nclust_worker_cpu_seconds_total')).toEqual({ 0: seconds, 1: seconds });
});

test('OpenMetrics names counters without their suffix, and has an end mark', async () => {
  rig.keeper.reports.set(ids()[0], reportOf(10));
  await rig.turn(1_000);
  const text = expose(await families(), true);
  expect(text).toMatch(/# TYPE nclust_http_requests counter\nnclust_http_requests_total\{/);
  expect(text).toContain('# UNIT nclust_worker_resident_memory_bytes bytes\n');
  expect(text.endsWith('\n# EOF\n')).toBe(true);
});

test('metrics that apps report are exported if they are numbers', () => {
  const worker = {
    id: 0,
    name: 'api',
    slot: 0,
    namespace: 'default',
    status: 'online',
    startedAtMs: null,
    http: null,
    elu: null,
    custom: { queue: { value: 3, unit: 'jobs' }, rate: { value: '1.5/s' }, word: { value: 'none' }, empty: null },
  };
  const sample = {
    host: { cpu: 0, memoryTotalBytes: 1, memoryUsedBytes: 1, diskTotalBytes: null, diskUsedBytes: null, load1: 0 },
    manager: {},
    apps: [],
    workers: [worker],
  };
  const custom = buildFamilies({ sample, latencies: new Map() }, [], '1').find(({ name }) => name === 'nclust_custom');
  expect(custom.points).toEqual([
    { labels: { app: 'api', instance: '0', namespace: 'default', name: 'queue', unit: 'jobs' }, value: 3 },
    { labels: { app: 'api', instance: '0', namespace: 'default', name: 'rate' }, value: 1.5 },
  ]);
});

test('OTLP has the same figures, in its own format', async () => {
  rig.keeper.reports.set(ids()[0], reportOf(10));
  await rig.turn(1_000);
  const [
    {
      resource,
      scopeMetrics: [{ metrics }],
    },
  ] = toOtlp(await families(), { version: '1.2.3', atMs: 1_700_000_000_123 }).resourceMetrics;
  const named = (name) => metrics.find((metric) => metric.name === name);
  expect(resource.attributes).toContainEqual({ key: 'service.name', value: { stringValue: 'nclust' } });
  expect(named('nclust_http_requests').sum).toMatchObject({
    aggregationTemporality: 2,
    isMonotonic: true,
    dataPoints: [{ timeUnixNano: '1700000000123000000', asDouble: 10 }],
  });
  expect(named('nclust_worker_resident_memory_bytes')).toMatchObject({ unit: 'By', gauge: {} });
  const {
    dataPoints: [point],
  } = named('nclust_http_request_duration_seconds').histogram;
  expect(point.bucketCounts).toHaveLength(point.explicitBounds.length + 1);
  expect(point.count).toBe('10');
});

test.each([
  ['nclust_a{x="1"} 1\n', 'another family'],
  ['# HELP a x\n# TYPE a gauge\na 1\na 2\n', 'twice'],
  ['# HELP a x\n# TYPE a counter\na 1\n', '_total'],
  ['# HELP a_ms x\n# TYPE a_ms gauge\na_ms 1\n', 'base unit'],
  ['# HELP a x\n# TYPE a gauge\na{x="a"b"} 1\n', 'label'],
  ['# HELP a x\n# TYPE a gauge\na one\n', 'value'],
  ['# HELP a x\n# TYPE a gauge\n', 'no sample'],
  ['# HELP a x\n# TYPE a histogram\na_bucket{le="1"} 1\na_sum 1\na_count 1\n', '+Inf'],
])('the parser of these tests refuses %j', (text, why) => {
  expect(() => readPrometheus(text)).toThrow(why);
});
