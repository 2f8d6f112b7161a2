import { beforeEach, describe, expect, test } from 'vitest';
import { FakeKeeper } from '../../../helpers/fake-keeper.js';
import { asOrphans, createRig, watch } from '../control-rig.js';
import { makeSpec } from '../make-spec.js';

let rig;

beforeEach(async () => {
  rig = createRig();
  await rig.boot();
});

async function done(method, params) {
  const request = watch(rig.call(method, params));
  await rig.turn(8_000);
  expect([request.state, request.error]).toEqual(['done', null]);
  return request.result.slots;
}

async function failed(method, params) {
  const request = watch(rig.call(method, params));
  await rig.turn(8_000);
  expect(request.state).toBe('failed');
  return request.error;
}

const start = (...specs) => done('start', { specs: specs.map((fields) => makeSpec(fields)) });
const alive = (name) => rig.keeper.alive.filter((child) => child.label.name === name && !child.isRetiring);
const names = () => rig.control.registry.desired.apps.map(({ spec }) => spec.name);

describe.each([['restart'], ['reload']])('%s with another name', (method) => {
  test('a renamed app has new instances in the same slots, log files of that name, and no other change', async () => {
    await start({ instances: 2 }, { name: 'other' });
    const other = alive('other').map(({ pid }) => pid);
    const before = alive('api').map(({ pid }) => pid);
    const slots = await done(method, { targets: ['api'], spec: { name: 'web' } });

    expect(slots).toMatchObject([
      { name: 'web', id: 0, slot: 0, status: 'online' },
      { name: 'web', id: 1, slot: 1, status: 'online' },
    ]);
    expect(rig.running()).toEqual(['other/0', 'web/0', 'web/1']);
    expect(names()).toEqual(['web', 'other']);
    expect(
      alive('web')
        .map(({ pid }) => pid)
        .filter((pid) => before.includes(pid)),
    ).toEqual([]);
    expect(alive('web').map(({ label }) => label.outFile)).toEqual(
      ['web-out-0.log', 'web-out-1.log'].map((file) => expect.stringContaining(`/logs/${file}`)),
    );
    expect(alive('other').map(({ pid }) => pid)).toEqual(other);
  });

  test('a renamed app keeps its sockets, and a later app with the old name does not share them', async () => {
    await start({ instances: 2 });
    await done(method, { targets: ['0', '1'], spec: { name: 'web' } });
    expect(rig.keeper.released).toEqual(new Set());
    expect(new Set(alive('web').map(({ label }) => label.scope))).toEqual(new Set(['api']));

    await start({ instances: 1 });
    const [{ label }] = alive('api');
    expect(label.scope).not.toBe('api');
    await done('delete', { targets: ['web'] });
    expect([...rig.keeper.released]).toEqual(['api']);
    expect(rig.running()).toEqual(['api/0']);
  });

  test('a renamed app is known to the next control by the new name', async () => {
    await start({ instances: 2 });
    await done(method, { targets: ['api'], spec: { name: 'web' } });
    const pids = alive('web').map(({ pid }) => pid);
    await rig.boot();
    await rig.turn(3_000);
    expect(alive('web').map(({ pid }) => pid)).toEqual(pids);
    expect(rig.running()).toEqual(['web/0', 'web/1']);
    await done('stop', { targets: ['web'] });
    expect(rig.running()).toEqual([]);
    expect([...rig.keeper.released]).toEqual(['api']);
  });

  test('a new name is refused if it is in use, for several apps, and for a part of one', async () => {
    await start({ instances: 2 }, { name: 'web' });
    const before = rig.keeper.alive.map(({ pid }) => pid);
    expect(await failed(method, { targets: ['api'], spec: { name: 'web' } })).toMatchObject({
      code: 'ERR_NCLUST_APP_EXISTS',
      message: '"api" cannot be renamed to "web": another app has that name. Nothing was changed.',
    });
    expect(await failed(method, { targets: ['all'], spec: { name: 'x' } })).toMatchObject({
      code: 'ERR_NCLUST_USAGE',
      message: expect.stringContaining('"api", "web" are 2 apps'),
    });
    expect(await failed(method, { targets: ['1'], spec: { name: 'x' } })).toMatchObject({
      code: 'ERR_NCLUST_USAGE',
      message: expect.stringContaining('a part of "api"'),
    });
    expect(rig.keeper.alive.map(({ pid }) => pid)).toEqual(before);
    expect(names()).toEqual(['api', 'web']);
  });

  test('a renamed app is one change of a name in the event log, and no app was added or removed', async () => {
    await start({});
    rig.noted.length = 0;
    await done(method, { targets: ['api'], spec: { name: 'web' } });
    expect(rig.noted.filter(({ type }) => ['added', 'deleted', 'config'].includes(type))).toMatchObject([
      { type: 'config', app: 'web', attributes: ['name'] },
    ]);
  });
});

test('a failed reload keeps the new name, which serving instances have', async () => {
  await start({ instances: 2 });
  const before = alive('api').map(({ pid }) => pid);
  rig.keeper.behave = () => ({ listensAfterMs: null, exitsAfterMs: 20, code: 1 });
  expect(await failed('reload', { targets: ['api'], spec: { name: 'web' } })).toMatchObject({
    code: 'ERR_NCLUST_RELOAD_FAILED',
  });
  expect((await rig.list()).map(({ name, status }) => [name, status])).toEqual([
    ['web', 'online'],
    ['web', 'online'],
  ]);
  expect(rig.keeper.alive.filter(({ isRetiring }) => !isRetiring).map(({ pid }) => pid)).toEqual(before);
});

test('control may die in the middle of a reload with another name', async () => {
  await start({ instances: 2 });
  void rig.call('reload', { targets: ['api'], spec: { name: 'web' } }).catch(() => {});
  await rig.turn(300);
  await rig.boot();
  await rig.turn(10_000);
  expect(rig.running()).toEqual(['web/0', 'web/1']);
  expect(alive('web').map(({ label }) => label.generation)).toEqual([2, 2]);
  expect(alive('api')).toEqual([]);
});

test('instances under an earlier name still belong to the app after keeper and control have died', async () => {
  await start({ instances: 2 });
  await done('reload', { targets: ['api'], spec: { name: 'web' } });
  const before = alive('web').map(({ pid }) => pid);
  rig.keeper.behave = () => ({ listensAfterMs: null, exitsAfterMs: 20, code: 1 });
  await failed('reload', { targets: ['web'], spec: { name: 'site' } });
  rig.orphans = asOrphans(rig.keeper.alive);
  rig.keeper = new FakeKeeper(rig.clock, { firstPid: 5_000 });
  rig.keeper.behave = () => ({ listensAfterMs: 500 });
  await rig.boot();
  await rig.turn(100);
  expect(
    rig.keeper.alive
      .filter(({ pid, isRetiring }) => before.includes(pid) && !isRetiring)
      .map(({ label }) => [label.name, label.id, label.scope]),
  ).toContainEqual(['site', 1, 'api']);
  await rig.turn(10_000);
  expect([rig.running(), rig.keeper.alive.some(({ isAdopted }) => isAdopted)]).toEqual([['site/0', 'site/1'], false]);
});

test('secrets are not read again for the new name', async () => {
  const readings = [];
  rig.secret = async (spec) => `${spec.name} ${readings.push(spec.name)}`;
  await start({ secrets: { TOKEN: { file: '/run/token' } } });
  await done('reload', { targets: ['api'], spec: { name: 'web' } });
  expect([readings, rig.spawned().map(({ params }) => params.env.TOKEN)]).toEqual([
    ['api', 'api'],
    ['api 1', 'api 2'],
  ]);
  rig.keeper.behave = () => ({ listensAfterMs: null, exitsAfterMs: 20, code: 1 });
  await failed('reload', { targets: ['web'], spec: { name: 'site' } });
  rig.keeper.behave = () => ({ listensAfterMs: 10 });
  rig.keeper.exit(alive('web')[0].instanceId, { code: 1 });
  await rig.turn(2_000);
  expect(rig.spawned().at(-1).params.env).toMatchObject({ name: 'site', TOKEN: 'api 2' });
});
