import { beforeEach, describe, expect, test } from 'vitest';
import { createRig, watch } from './control-rig.js';
import { makeSpec } from './make-spec.js';

const FILE = '/srv/ecosystem.config.js';

let rig;

beforeEach(async () => {
  rig = createRig();
  await rig.boot();
});

const renew = (specs, more = {}) =>
  watch(rig.call('restartFromFile', { specs: specs.map((fields) => makeSpec(fields)), file: FILE, ...more }));
const alive = (name = 'api') => rig.keeper.alive.filter((child) => child.label.name === name && !child.isRetiring);
const pids = (name = 'api') => alive(name).map(({ pid }) => pid);
const appOf = (name = 'api') => rig.control.registry.desired.apps.find((app) => app.spec.name === name);

async function scale(target, instances) {
  const request = watch(rig.call('scale', { target, instances: String(instances) }));
  await rig.turn(5_000);
  expect(request.state).toBe('done');
}

async function renewed(specs, more = {}) {
  const request = renew(specs, more);
  await rig.turn(5_000);
  expect([request.state, request.error]).toEqual(['done', null]);
  return request.result.slots.map(({ name, slot }) => `${name}/${slot}`);
}

describe('the apps of a file', () => {
  test('the apps of a file start when they are not in the list', async () => {
    expect(await renewed([{ instances: 2 }, { name: 'worker' }])).toEqual(['api/0', 'api/1', 'worker/0']);
    expect(rig.running()).toEqual(['api/0', 'api/1', 'worker/0']);
    expect(appOf()).toMatchObject({ by: 'restart', generation: 1 });
  });

  test.each([
    ['start', 'restart'],
    ['restart', 'restart'],
    ['reload', 'reload'],
  ])('a %s is refused before an instance stops if a running app could not start again', async (how, method) => {
    await renewed([{}]);
    const before = pids();
    rig.preflight = (specs, asked) => {
      throw new Error(`${asked} of ${specs.map(({ name }) => name)}`);
    };
    const request = renew([{}, { name: 'new' }], { how });
    await rig.turn(10);
    expect([request.error?.message, pids()]).toEqual([`${method} of api`, before]);
  });

  test.each([['start'], ['restart'], ['reload']])(
    '%s: running apps get all settings of the file, and the present shell',
    async (how) => {
      await renewed([{ env: { A: '1', GONE: '1' }, shellEnv: { HOME: '/old' } }, { name: 'other' }]);
      const [before, other] = [pids(), pids('other')];
      await renewed(
        [{ env: { A: '2' }, shellEnv: { HOME: '/new' }, killTimeoutMs: 700, args: ['x'] }, { name: 'fresh' }],
        { how },
      );

      expect(pids()).toHaveLength(1);
      expect(pids()).not.toEqual(before);
      expect(pids('other')).toEqual(other);
      expect(appOf()).toMatchObject({
        by: how,
        spec: { env: { A: '2' }, shellEnv: { HOME: '/new' }, killTimeoutMs: 700, args: ['x'] },
      });
      expect(appOf().spec.env).not.toHaveProperty('GONE');
      expect(rig.running()).toEqual(['api/0', 'fresh/0', 'other/0']);
    },
  );

  test.each([
    ['restart', 4],
    ['restart', 1],
    ['reload', 4],
    ['reload', 1],
  ])('a %s to %i instances replaces the two that run', async (how, instances) => {
    await renewed([{ instances: 2 }]);
    const before = pids();
    await renewed([{ instances }], { how });
    expect(alive()).toHaveLength(instances);
    expect(pids().filter((pid) => before.includes(pid))).toEqual([]);
    expect(appOf().spec.instances).toBe(instances);
  });

  describe.each([['start'], ['restart'], ['reload']])('%s of an app that was scaled by hand', (how) => {
    test('a scaled app keeps its number while the file is unchanged, under the next control too', async () => {
      await renewed([{ instances: 2 }, { name: 'worker' }]);
      await scale('api', 3);
      await scale('api', 4);
      await rig.boot();
      await rig.turn(1_000);
      const request = renew([{ instances: 2, env: { A: '1' } }, { name: 'worker' }], { how });
      await rig.turn(8_000);
      expect(request.result.plan).toMatchObject([
        { name: 'api', changes: [], kept: { instances: 4, file: 2 } },
        { name: 'worker', changes: [] },
      ]);
      expect(request.result.plan[1]).not.toHaveProperty('kept');
      expect([alive().length, appOf().spec.instances, appOf().spec.env]).toEqual([4, 4, { A: '1' }]);
      await renewed([{ instances: 2 }], { how });
      expect(alive()).toHaveLength(4);
    });

    test('a scaled app gets the number of the file if it changed, or if the command line gives it', async () => {
      await renewed([{ instances: 2 }]);
      await scale('api', 4);
      const request = renew([{ instances: 3 }], { how });
      await rig.turn(8_000);
      expect(request.result.plan).toMatchObject([
        { name: 'api', changes: [{ field: 'instances', attribute: 'instances', before: 4, after: 3 }] },
      ]);
      expect(alive()).toHaveLength(3);
      await renewed([{ instances: 2 }], { how });
      expect(alive()).toHaveLength(2);
      await scale('api', 4);
      await renewed([{ instances: 2 }], { how, isCounted: true });
      expect(alive()).toHaveLength(2);
    });

    test('a scaled app forgets its number when it was scaled back, or a file was applied', async () => {
      await renewed([{ instances: 2 }]);
      await scale('api', 4);
      await scale('api', 2);
      await renewed([{ instances: 3 }], { how });
      expect(alive()).toHaveLength(3);
      await scale('api', 4);
      const applied = watch(rig.call('apply', { specs: [makeSpec({ instances: 4 })], file: FILE }));
      await rig.turn(8_000);
      expect(applied.state).toBe('done');
      await renewed([{ instances: 3 }], { how });
      expect(alive()).toHaveLength(3);
    });
  });

  test('the apps of a file are unchanged after a reload of code that crashes', async () => {
    await renewed([{ instances: 2, env: { A: '1' } }]);
    const before = pids();
    rig.keeper.behave = () => ({ listensAfterMs: null, exitsAfterMs: 20, code: 1 });
    const request = renew([{ instances: 2, env: { A: '2' } }], { how: 'reload' });
    await rig.turn(5_000);
    expect(request.state).toBe('failed');
    expect(request.error).toMatchObject({ code: 'ERR_NCLUST_APPLY_FAILED' });
    expect(pids()).toEqual(before);
    expect(appOf().spec.env).toEqual({ A: '1' });
  });

  test('the apps of a file start again if they were stopped', async () => {
    await renewed([{}]);
    void rig.call('stop', { targets: ['api'] });
    await rig.turn(2_000);
    await renewed([{ env: { A: '2' } }], { how: 'reload' });
    expect(rig.running()).toEqual(['api/0']);
    expect(appOf().spec.env).toEqual({ A: '2' });
  });

  test('the apps of a file with autostart: false are added, not started; existing ones are started', async () => {
    expect(await renewed([{ autostart: false }])).toEqual(['api/0']);
    expect(rig.running()).toEqual([]);
    await renewed([{ autostart: false }]);
    expect(rig.running()).toEqual(['api/0']);
  });

  test('the old instances exit first if a reload changes the mode, because a socket belongs to a mode', async () => {
    await renewed([{ mode: 'fork' }]);
    const [old] = pids();
    const request = renew([{ mode: 'cluster', instances: 2, instancesGiven: true }], { how: 'reload' });
    await rig.turn(0);
    expect(rig.spawned()).toHaveLength(1);
    await rig.turn(5_000);
    expect(request.state).toBe('done');
    expect(pids()).toHaveLength(2);
    expect(pids()).not.toContain(old);
  });

  test('the apps of a file are changed once by a request that is repeated with its token', async () => {
    const token = 'one';
    await renewed([{}], { token });
    const before = pids();
    await renewed([{ env: { A: '2' } }], { token });
    expect(pids()).toEqual(before);
  });

  test('the apps of a file are refused if two have one name, and nothing is changed', async () => {
    const request = renew([{}, {}]);
    await rig.turn();
    expect(request.state).toBe('failed');
    expect(request.error.message).toMatch(/"api" is in it twice/);
    expect(rig.control.registry.desired.apps).toEqual([]);
  });
});
