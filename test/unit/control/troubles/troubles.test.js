import { beforeEach, expect, test } from 'vitest';
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
async function report(seconds) {
  for (let at = 0; at < seconds; at += 1) {
    for (const { instanceId } of rig.keeper.alive) rig.keeper.reports.set(instanceId, reportOf(at));
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
  await report(20);
  expect(await kinds()).toEqual(['loop-blocked']);
  await report(20);
  expect(await kinds()).toEqual([]);
});

test('nothing begins after the clock has jumped, until there are new figures', async () => {
  await start({ name: 'api' });
  await report(3);
  rig.clock.setBack(-3_600_000);
  await report(15);
  expect(noted()).toEqual([]);
});

test('troubles takes targets', async () => {
  await start({ name: 'api' });
  await start({ name: 'web' });
  await report(1);
  await rig.turn(5_000);
  expect(await troubles({ targets: ['web'] })).toMatchObject([{ app: 'web' }]);
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
