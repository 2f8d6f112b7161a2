import { beforeEach, describe, expect, test } from 'vitest';
import { createMetricsRig, reportOf } from './metrics-rig.js';

let rig;

beforeEach(async () => {
  rig = await createMetricsRig();
});

async function start(fields) {
  const starting = rig.start(fields);
  await rig.turn(20);
  await starting;
}

const ids = () => rig.keeper.alive.map(({ instanceId }) => instanceId);

test('one call returns the figures of workers, apps, the manager and the host', async () => {
  await start({ instances: 2 });
  for (const id of ids()) rig.keeper.reports.set(id, reportOf(10));
  await rig.turn(1_000);
  const { workers, apps, host, manager, tickMs } = await rig.call('metrics');
  expect(
    workers.map(({ id, slot, name, status, cpu, http }) => ({
      id,
      slot,
      name,
      status,
      cpu,
      requests: http.totals.requests,
    })),
  ).toEqual([
    { id: 0, slot: 0, name: 'api', status: 'online', cpu: 5, requests: 10 },
    { id: 1, slot: 1, name: 'api', status: 'online', cpu: 5, requests: 10 },
  ]);
  expect(workers[0]).toMatchObject({
    heapUsedBytes: 1_000,
    elu: 0.25,
    delayP99Ms: 2,
    connections: 5,
    fds: 3,
    pssBytes: null,
    isNode: true,
  });
  expect(apps).toMatchObject([
    {
      name: 'api',
      workers: 2,
      online: 2,
      cpu: 10,
      connections: 10,
      elu: 0.25,
      delayMaxMs: 3,
      http: { totals: { requests: 20, responses: { '2xx': 20 } } },
    },
  ]);
  expect(host.cores).toBe(2);
  expect(manager.control.pid).toBe(process.pid);
  expect(tickMs).toBe(1_000);
});

test('a worker has its limit of descriptors, and the usage of its tree', async () => {
  await start();
  await rig.turn(1_000);
  expect((await rig.call('metrics')).workers).toMatchObject([
    { fdsLimit: 1_024, sockets: null, cpu: 5, tree: { processes: 2, cpu: 90, top: { program: 'ffmpeg', cpu: 85 } } },
  ]);
  const own = rig.looked.flat().filter(({ isManager }) => isManager);
  expect(new Set(own.map(({ pid }) => pid))).toEqual(new Set([process.pid, rig.control.keeper.pid]));
});

test('an app has its error lines, and a deleted one is forgotten', async () => {
  await start();
  await rig.turn(1_000);
  rig.errorCounts.take('api', Buffer.from('Error 1\nError 2\n'));
  expect((await rig.call('metrics')).apps).toMatchObject([
    { name: 'api', errorLines: { perS: 0.2, usualPerS: null, line: 'Error #', share: 1, total: 2 } },
  ]);
  const deleting = rig.call('delete', { targets: ['api'] });
  await rig.turn(2_000);
  await deleting;
  expect(rig.errorCounts.of('api')).toBe(null);
});

test('the list has the same CPU and memory', async () => {
  await start();
  await rig.turn(1_000);
  const [slot] = await rig.list();
  expect(slot).toMatchObject({ cpu: 5, memoryBytes: slot.pid * 1_000 });
});

test('private memory is only in a detailed answer', async () => {
  await start();
  const { workers } = await rig.call('metrics', { targets: ['api'], detail: true });
  expect(workers).toMatchObject([{ pssBytes: 1, privateBytes: 2 }]);
});

test('a program without an agent has the figures of the system, including its children', async () => {
  await start({ kind: 'exec', mode: 'fork', name: 'job' });
  await rig.turn(1_000);
  const { workers } = await rig.call('metrics');
  expect(workers).toMatchObject([
    { isNode: false, cpu: 5, elu: null, delayP99Ms: null, http: null, reportAgeMs: null },
  ]);
  expect(rig.looked.flat().find(({ pid }) => pid === workers[0].pid)).toEqual({ pid: workers[0].pid, isTree: true });
  expect(rig.keeper.requests.some(({ verb }) => verb === 'reports')).toBe(false);
});

const listSilent = (workers) => workers.filter(({ reportAgeMs }) => reportAgeMs > 3_000);

describe('a worker that has not reported yet', () => {
  const ages = async () => (await rig.call('metrics')).workers.map(({ reportAgeMs }) => reportAgeMs);

  test('a worker that has not reported yet counts as blocked since it was loaded', async () => {
    await start();
    rig.keeper.reports.clear();
    await rig.boot();
    void rig.start({ name: 'late' });
    await rig.turn(5_000);
    const { workers } = await rig.call('metrics');
    expect(listSilent(workers).map(({ name, activity }) => [name, activity])).toEqual([
      ['api', 'waits'],
      ['late', 'waits'],
    ]);
    // Since its boot, and not since the start of this control.
    expect(workers[0].reportAgeMs).toBeGreaterThan(Number(workers[1].reportAgeMs));
    rig.keeper.reports.set(ids().at(-1), reportOf(1));
    await rig.turn(1_000);
    const [api, late] = (await rig.call('metrics')).workers;
    expect(listSilent([api, late])).toEqual([api]);
    expect(late).toMatchObject({ name: 'late', activity: null });
  });

  test.each([
    ['while control has not asked', {}, 0],
    ['without metrics', { metrics: false }, 5_000],
    ['if it is not Node.js', { kind: 'exec', mode: 'fork' }, 5_000],
    ['while it loads', {}, 5_000, { bootsAfterMs: 60_000 }],
  ])('a silent worker does not count as blocked %s', async (_what, fields, ms, behaviour = { listensAfterMs: 10 }) => {
    rig.keeper.behave = () => behaviour;
    void rig.start(fields);
    await rig.turn(ms);
    if (ms === 0) await rig.boot();
    expect(await ages()).toEqual([null]);
  });
});

test('the oldest request of an app is that of its worst worker, and null if none is open', async () => {
  await start({ instances: 2 });
  const oldest = async (...ages) => {
    for (const [at, id] of ids().entries()) {
      const report = reportOf(10);
      rig.keeper.reports.set(id, { ...report, http: { ...report.http, oldestMs: ages[at] } });
    }
    await rig.turn(1_000);
    const { workers, apps } = await rig.call('metrics');
    return [...workers, ...apps].map(({ http }) => http.oldestRequestMs);
  };
  expect(await oldest(40, 900)).toEqual([40, 900, 900]);
  expect(await oldest(null, 1_900)).toEqual([null, 1_900, 1_900]);
  expect(await oldest(null, null)).toEqual([null, null, null]);
});

test('a stopped app uses nothing', async () => {
  await start();
  await rig.turn(1_000);
  const stopping = rig.call('stop', { targets: ['api'] });
  await rig.turn(1_000);
  await stopping;
  const { workers } = await rig.call('metrics');
  expect(workers).toMatchObject([{ pid: 0, status: 'stopped', cpu: 0, memoryBytes: 0, processes: 0, elu: null }]);
});

test('sums of a slot outlive its instances, restarts and control', async () => {
  await start();
  rig.keeper.reports.set(ids()[0], reportOf(10));
  await rig.turn(1_000);
  // Control has not received these figures when the process exits.
  rig.keeper.reports.set(ids()[0], reportOf(12));
  const restarting = rig.call('restart', { targets: ['api'] });
  await rig.turn(1_000);
  await restarting;
  const requests = async () => (await rig.call('metrics')).workers[0].http.totals.requests;
  expect(await requests()).toBe(12);
  rig.keeper.reports.set(ids()[0], reportOf(5));
  await rig.turn(1_000);
  expect(await requests()).toBe(17);
  await rig.boot();
  expect(await requests()).toBe(12);
  await rig.turn(1_000);
  expect(await requests()).toBe(17);
});

test('an instance that exits while there is no control is counted by the next one, once', async () => {
  await start();
  rig.keeper.reports.set(ids()[0], reportOf(10));
  await rig.turn(1_000);
  rig.control.close();
  rig.keeper.exit(ids()[0], { code: 1 });
  rig.clock.advance(5);
  for (let boots = 0; boots < 3; boots += 1) await rig.boot();
  await rig.turn(1_000);
  expect((await rig.call('metrics')).workers[0].http.totals.requests).toBe(10);
});

test('a subscriber gets a sample per tick, until it unsubscribes', async () => {
  await start();
  const { subscription } = await rig.call('metrics', { follow: true, subscription: 'mine', workers: false });
  await rig.turn(3_000);
  const heard = rig.published.filter(({ kind }) => kind === 'metrics');
  expect(heard).toHaveLength(3);
  expect(heard[0]).toMatchObject({ subscription: 'mine', workers: [], apps: [{ name: 'api' }] });
  await rig.call('unsubscribe', { subscription });
  await rig.turn(3_000);
  expect(rig.published.filter(({ kind }) => kind === 'metrics')).toHaveLength(3);
});

test('a subscription to a target that is deleted gets empty samples', async () => {
  await start();
  await rig.call('metrics', { follow: true, targets: ['api'] });
  const deleting = rig.call('delete', { targets: ['api'] });
  await rig.turn(2_000);
  await deleting;
  expect(rig.published.filter(({ kind }) => kind === 'metrics').at(-1)).toMatchObject({ apps: [], workers: [] });
});

test('history has one series for each slot and for the app, through a restart', async () => {
  await start({ instances: 2 });
  await rig.turn(2_000);
  const restarting = rig.call('restart', { targets: ['api'] });
  await rig.turn(1_000);
  await restarting;
  const { history } = await rig.call('metrics', {
    targets: ['api'],
    history: { series: ['cpu'], points: 4, of: 'both' },
  });
  expect(history).toMatchObject({
    stepMs: 1_000,
    points: 4,
    workers: [{ id: 0, name: 'api', slot: 0 }, { id: 1 }],
    apps: [{ name: 'api' }],
  });
  expect(history.workers[0].series.cpu.slice(0, 3)).toEqual([null, 5, 5]);
  expect(history.apps[0].series.cpu.slice(0, 3)).toEqual([null, 10, 10]);
  expect(history.host.cpu).toEqual([null, 10, 10, 10]);
  await expect(rig.call('metrics', { history: { series: ['nonsense'] } })).rejects.toThrow('cpu');
  await expect(rig.call('metrics', { history: { stepMs: 5 } })).rejects.toThrow('1000 or 10000');
});

test('an app that gets the id of a deleted one starts with an empty history', async () => {
  await start();
  await rig.turn(2_000);
  const deleting = rig.call('delete', { targets: ['api'] });
  await rig.turn(20);
  await deleting;
  // There was no tick since the slot was removed, so the metrics have not noticed that.
  await start({ name: 'other' });
  const { history } = await rig.call('metrics', { history: { series: ['cpu'], points: 3 } });
  expect(history.workers).toEqual([{ id: 0, name: 'other', slot: 0, series: { cpu: [null, null, null] } }]);
});

test('a history that is too large for an answer is refused, with the size that fits', async () => {
  await start({ instances: 200 });
  await expect(rig.call('metrics', { history: { stepMs: 10_000 } })).rejects.toThrow(
    '"history.points" has to be at most 833 for 6 series of 200 slots',
  );
  expect((await rig.call('metrics', { history: { stepMs: 10_000, of: 'host' } })).history.host.cpu).toHaveLength(2160);
});

test('a keeper that is too old for the request is not an error', async () => {
  rig.keeper.lacks = new Set(['reports']);
  await start();
  await rig.turn(2_000);
  expect((await rig.call('metrics')).workers).toMatchObject([{ cpu: 5, elu: null }]);
  expect(rig.events.some(({ event }) => event === 'metrics-failed')).toBe(false);
});

test('a keeper that does not answer delays nothing else', async () => {
  await start();
  rig.keeper.lacks = new Set();
  const asked = rig.control.askKeeper;
  rig.control.askKeeper = () => new Promise(() => {});
  await rig.turn(3_000);
  rig.control.askKeeper = asked;
  const { history } = await rig.call('metrics', { history: { points: 2, series: ['cpu'] } });
  expect(history.workers[0].series.cpu).toEqual([5, 5]);
});

test('a worker does not count as blocked while the keeper does not answer', async () => {
  await start();
  for (const id of ids()) rig.keeper.reports.set(id, reportOf(10));
  await rig.turn(1_000);
  const asked = rig.control.askKeeper;
  const answers = [];
  rig.control.askKeeper = () => new Promise((resolve) => answers.push(resolve));
  await rig.turn(10_000);
  expect(listSilent((await rig.call('metrics')).workers)).toEqual([]);
  rig.control.askKeeper = asked;
  answers.forEach((resolve) => resolve({ reports: [] }));
  await rig.turn(5_000);
  expect(listSilent((await rig.call('metrics')).workers)).toHaveLength(1);
});

test('a worker does not count as blocked while control is too busy to ask for reports', async () => {
  await start();
  for (const id of ids()) rig.keeper.reports.set(id, reportOf(10));
  await rig.turn(1_000);
  rig.clock.setBack(-4_000);
  expect(listSilent((await rig.call('metrics')).workers)).toEqual([]);
});

test('a worker does not count as blocked while control changes from one keeper to the next', async () => {
  await start();
  for (let at = 0; at < 5; at += 1) {
    for (const id of ids()) rig.keeper.reports.set(id, reportOf(10));
    await rig.turn(1_000);
  }
  rig.keeper.reports.clear();
  Object.defineProperty(rig.control, 'isHeld', { value: true });
  await rig.turn(2_000);
  expect(listSilent((await rig.call('metrics')).workers)).toEqual([]);
});

test('the agent of an app without metrics does not count requests', async () => {
  await start({ metrics: false });
  expect(rig.spawned()[0].params.metrics).toBe(false);
  await start({ name: 'other' });
  expect('metrics' in rig.spawned()[1].params).toBe(false);
});
