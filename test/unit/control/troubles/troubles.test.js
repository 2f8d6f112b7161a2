import { beforeEach, describe, expect, test } from 'vitest';
import { createMetricsRig, reportOf } from '../metrics/metrics-rig.js';

let rig;

beforeEach(async () => {
  rig = await createMetricsRig();
});

const troubles = async (o) => (await rig.call('troubles', o)).troubles;
const kinds = async () => (await troubles()).map(({ kind }) => kind);
const noted = () =>
  rig.noted.filter(({ type }) => type.startsWith('trouble:')).map(({ type, app, kind }) => `${type} ${app} ${kind}`);

async function start(fields) {
  const starting = rig.start(fields);
  await rig.turn(20);
  await starting;
}

/** Each worker reports every second. After that, none does. */
async function report(seconds, isMeant = () => true) {
  for (let at = 0; at < seconds; at += 1) {
    for (const { instanceId } of rig.keeper.alive.filter(isMeant)) rig.keeper.reports.set(instanceId, reportOf(at));
    await rig.turn(1_000);
  }
}

async function crash() {
  rig.keeper.exit(rig.keeper.alive[0].instanceId, { code: 1 });
  await rig.turn(500);
  await report(1);
}

test('a trouble is listed, marked at its slot and logged, until its cause ends', async () => {
  await start({ name: 'api' });
  await report(2);
  expect(await troubles()).toEqual([]);
  await rig.turn(5_000);
  expect(await troubles()).toMatchObject([{ app: 'api', kind: 'loop-blocked', level: 'bad', slots: [0] }]);
  expect((await rig.call('list', { brief: true })).slots).toMatchObject([{ name: 'api', troubles: ['loop-blocked'] }]);
  expect((await rig.call('metrics')).troubles).toMatchObject([{ kind: 'loop-blocked' }]);
  await report(2);
  expect(await troubles()).toEqual([]);
  expect(noted()).toEqual(['trouble:began api loop-blocked', 'trouble:ended api loop-blocked']);
});

test('followers that name the type hear when a trouble begins and ends, and others do not', async () => {
  await start({ name: 'api' });
  await rig.call('events', { types: ['trouble'], subscription: 'mine' });
  await rig.call('events', { subscription: 'all' });
  await report(2);
  await rig.turn(5_000);
  const heard = () => rig.happened.filter(({ type }) => type === 'trouble');
  const about = { subscription: 'mine', type: 'trouble', app: 'api', kind: 'loop-blocked', level: 'bad', slots: [0] };
  expect(heard()).toMatchObject([{ ...about, hasBegun: true, id: expect.any(String) }]);
  await report(2);
  expect(heard()).toMatchObject([
    { hasBegun: true },
    { ...about, hasBegun: false, id: heard()[0].id, at: expect.any(Number) },
  ]);
});

test('an event is judged before the next answer', async () => {
  await start({ name: 'api' });
  await report(1);
  await crash();
  rig.keeper.exit(rig.keeper.alive[0].instanceId, { code: 1 });
  await rig.turn(0);
  expect(await kinds()).toEqual(['crash-loop']);
  void rig.call('delete', { targets: ['api'] });
  await rig.turn(2_000);
  expect(await kinds()).toEqual([]);
  expect(noted()).toEqual(['trouble:began api crash-loop', 'trouble:ended api crash-loop']);
});

test('a trouble survives control with its beginning and its count', async () => {
  await start({ name: 'api' });
  await report(1);
  await crash();
  await crash();
  const [before] = await troubles();
  expect(before).toMatchObject({ kind: 'crash-loop', times: 2 });
  await report(10);
  await rig.boot();
  await report(5);
  expect(await troubles()).toMatchObject([{ kind: 'crash-loop', sinceMs: before.sinceMs, times: 2 }]);
  expect(noted()).toEqual(['trouble:began api crash-loop']);
});

test('a trouble of the previous control ends if its cause is gone', async () => {
  await start({ name: 'api' });
  await report(1);
  await rig.turn(5_000);
  expect(await kinds()).toEqual(['loop-blocked']);
  await rig.boot();
  await report(55);
  expect(await kinds()).toEqual(['loop-blocked']);
  await report(10);
  expect(await kinds()).toEqual([]);
});

/** A suspended machine: its clock goes on, and no timer runs. Or its clock is set back. */
const JUMPS = [
  ['an hour forwards', 3_600_000],
  ['an hour back', -3_600_000],
];

describe.each(JUMPS)('the clock jumps %s', (_, ms) => {
  const jump = () => rig.clock.setBack(-ms);

  test('nothing begins', async () => {
    await start({ name: 'api' });
    await crash();
    await report(3);
    jump();
    await report(60);
    expect(noted()).toEqual([]);
  });

  test('an open trouble keeps its beginning, and none ends', async () => {
    await start({ name: 'blocked' });
    const [blocked] = rig.keeper.alive;
    const isOther = ({ instanceId }) => instanceId !== blocked.instanceId;
    await start({ name: 'crashes' });
    await report(1);
    for (const code of [1, 2]) {
      rig.keeper.exit(rig.keeper.alive.find(isOther).instanceId, { code });
      await report(5, isOther);
    }
    const before = await troubles();
    expect(before.map(({ kind }) => kind)).toEqual(['loop-blocked', 'crash-loop']);
    jump();
    await report(90, isOther);
    const after = await troubles();
    expect(after.map(({ kind, sinceMs, times }) => ({ kind, sinceMs, times }))).toEqual(
      before.map(({ kind, sinceMs, times }) => ({ kind, sinceMs, times })),
    );
    expect(noted()).toHaveLength(2);
  });
});

test('troubles takes targets', async () => {
  await start({ name: 'api' });
  await start({ name: 'web' });
  await report(1);
  await rig.turn(5_000);
  expect(await troubles({ targets: ['web'] })).toMatchObject([{ app: 'web' }]);
});

test('a stop hangs five seconds after the last open request, because the signal comes then', async () => {
  rig.keeper.behave = () => ({ listensAfterMs: 10, stopsAfterMs: 60_000 });
  await start({ name: 'api', killTimeoutMs: 60_000 });
  const answer = (active) => {
    const [{ instanceId }] = rig.keeper.alive;
    rig.keeper.reports.set(instanceId, reportOf(9, { http: { ...reportOf(9).http, active } }));
  };
  void rig.call('stop', { targets: ['api'] });
  for (let at = 0; at < 8; at += 1) {
    answer(1);
    await rig.turn(1_000);
  }
  answer(0);
  await rig.turn(3_000);
  expect(await kinds()).toEqual([]);
  answer(0);
  await rig.turn(4_000);
  expect(await kinds()).toEqual(['stop-hangs']);
});

test('lost lines last until a line is written', async () => {
  await start({ name: 'api' });
  rig.losing = new Map([['api', { lines: 3, reason: 'ENOSPC' }]]);
  await report(2);
  expect(await troubles()).toMatchObject([{ kind: 'lines-lost', evidence: { lines: 3, reason: 'ENOSPC' } }]);
  rig.losing = new Map();
  await report(2);
  expect(await troubles()).toEqual([]);
});

test('the judge looks once a second, and every other second with more than 200 workers', async () => {
  let looks = 0;
  Object.defineProperty(rig, 'losing', { get: () => (looks += 1) && new Map() });
  const count = async () => {
    looks = 0;
    await rig.turn(10_000);
    return looks;
  };
  await start({ name: 'api' });
  await rig.turn(3_000);
  expect(await count()).toBe(10);
  Object.defineProperty(rig.control.registry.instances, 'size', { value: 201 });
  expect(await count()).toBe(5);
});

test('10,000 crashes in a minute are one trouble, and are judged six times a second at most', async () => {
  let looks = 0;
  Object.defineProperty(rig, 'losing', { get: () => (looks += 1) && new Map() });
  await start({ name: 'api' });
  const { note } = rig.eventLog();
  looks = 0;
  for (let at = 0; at < 600; at += 1) {
    for (let crashes = at < 400 ? 17 : 16; crashes > 0; crashes -= 1)
      note({ type: 'died', app: 'api', slot: 0, cause: 'crash', code: 1, signal: null, generation: 1 });
    if (at % 10 === 0) for (const { instanceId } of rig.keeper.alive) rig.keeper.reports.set(instanceId, reportOf(at));
    await rig.turn(100);
  }
  expect(looks).toBeLessThanOrEqual(6 * 61);
  expect(await troubles()).toMatchObject([{ kind: 'crash-loop', slots: [0], times: 10_000 }]);
  void rig.call('delete', { targets: ['api'] });
  await rig.turn(2_000);
  expect(noted()).toEqual(['trouble:began api crash-loop', 'trouble:ended api crash-loop']);
});

test('an app that answers with errors is failing until it answers without', async () => {
  await start({ name: 'api' });
  const answer = async (from, to, errors) => {
    for (let at = from; at < to; at += 1) {
      const http = { active: 0, aborted: 0, upgrades: 0, durationMs: 1, latency: [] };
      const responses = [0, 100, 0, 0, errors(at)];
      for (const { instanceId } of rig.keeper.alive)
        rig.keeper.reports.set(instanceId, reportOf(0, { http: { ...http, requests: 100 + 5 * at, responses } }));
      await rig.turn(1_000);
    }
  };
  await answer(0, 60, (at) => 4 * at);
  expect(await troubles()).toMatchObject([{ kind: 'failing', slots: [0], evidence: { share: expect.closeTo(0.8) } }]);
  await answer(60, 120, () => 4 * 60);
  expect(await troubles()).toEqual([]);
});

test('the code that blocks a loop is in the trouble and in its end, and survives control', async () => {
  const asked = [];
  rig.takeFrame = async (id) => {
    asked.push(id);
    return { where: 'render (report.js:31)', stack: ['render (/srv/report.js:31:5)'] };
  };
  const found = { where: 'render (report.js:31)', stack: ['render (/srv/report.js:31:5)'], isEarlier: false };
  await start({ name: 'api' });
  await report(2);
  await rig.turn(8_000);
  expect(await troubles()).toMatchObject([{ kind: 'loop-blocked', evidence: { frame: found } }]);
  await rig.boot();
  await rig.turn(8_000);
  expect(await troubles()).toMatchObject([
    { kind: 'loop-blocked', evidence: { frame: { where: 'render (report.js:31)' } } },
  ]);
  await report(40);
  expect(await troubles()).toEqual([]);
  expect(asked).toEqual([0]);
  const about = rig.noted.filter(({ type }) => type === 'trouble:ended');
  expect(about).toMatchObject([{ kind: 'loop-blocked', evidence: { frame: { where: 'render (report.js:31)' } } }]);
});
