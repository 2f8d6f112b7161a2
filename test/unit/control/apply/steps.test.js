import { beforeEach, describe, expect, test } from 'vitest';
import { createRig, watch } from '../control-rig.js';
import { makeSpec } from '../make-spec.js';
import { pattern } from '../../../helpers/pattern.js';

const FILE = '/srv/nclust.config.js';

let rig;

beforeEach(async () => {
  rig = createRig();
  await rig.boot();
});

const apply = (specs, more = {}) =>
  watch(rig.call('apply', { specs: specs.map((fields) => makeSpec(fields)), file: FILE, ...more }));
const dry = async (specs, more = {}) =>
  await rig.call('apply', { specs: specs.map((fields) => makeSpec(fields)), file: FILE, dryRun: true, ...more });
const actions = ({ plan }) => plan.map(({ name, action }) => `${name}: ${action}`);
const pids = (name = 'api') =>
  rig.keeper.alive.filter((child) => child.label.name === name && !child.isRetiring).map(({ pid }) => pid);
const appOf = (name = 'api') => rig.control.registry.desired.apps.find((app) => app.spec.name === name);
const asked = (verb) => rig.keeper.requests.filter((request) => request.verb === verb).map(({ params }) => params);

async function applied(specs, more = {}) {
  const request = apply(specs, more);
  await rig.turn(5_000);
  expect([request.state, request.error]).toEqual(['done', null]);
  return request.result;
}

describe('apply', () => {
  test('apply starts missing apps, and does nothing when it is repeated', async () => {
    expect(actions(await applied([{ instances: 2 }, { name: 'worker' }]))).toEqual(['api: start', 'worker: start']);
    const before = pids();
    expect(rig.running()).toEqual(['api/0', 'api/1', 'worker/0']);
    expect(actions(await applied([{ instances: 2 }, { name: 'worker' }]))).toEqual(['api: none', 'worker: none']);
    expect([pids(), rig.spawned().length]).toEqual([before, 3]);
  });

  test('apply does nothing to apps that were started with the same settings', async () => {
    void rig.start({ instances: 'max' });
    await rig.turn(2_000);
    expect(actions(await dry([{ instances: 'max' }]))).toEqual(['api: none']);
    expect(actions(await dry([{ instances: 4, shellEnv: { OTHER: 'shell' } }]))).toEqual(['api: none']);
  });

  test('apply with dryRun returns its plan, and does nothing', async () => {
    const plan = await dry([{}]);
    expect(plan).toEqual({ plan: [{ name: 'api', action: 'start', changes: [] }], left: [], slots: [] });
    expect([rig.control.registry.desired.apps, rig.control.registry.desired.tokens]).toEqual([[], []]);
  });

  test('apply changes limits of running instances without a new process', async () => {
    await applied([{ instances: 2 }]);
    const before = pids();
    const fields = {
      instances: 2,
      killTimeoutMs: 700,
      stopSignal: 'SIGUSR2',
      maxRestarts: 0,
      autorestart: false,
      namespace: 'shop',
    };
    expect(actions(await applied([fields]))).toEqual(['api: live']);
    expect([pids(), appOf().spec.namespace, rig.spawned().length]).toEqual([before, 'shop', 2]);
    expect(actions(await dry([fields]))).toEqual(['api: none']);

    rig.keeper.exit('i0-0', { code: 3 });
    await rig.turn(1_000);
    expect(rig.running()).toEqual(['api/1']);
    void rig.call('stop', { targets: ['api'] });
    await rig.turn();
    expect(asked('retire').at(-1)).toMatchObject({ instanceId: 'i0-1', killTimeoutMs: 700, signal: 'SIGUSR2' });
  });

  test('apply keeps a limit that was changed live for the next control, too', async () => {
    await applied([{}]);
    await applied([{ killTimeoutMs: 700 }]);
    await rig.boot();
    void rig.call('restart', { targets: ['api'] });
    await rig.turn();
    expect(asked('retire').at(-1)).toMatchObject({ killTimeoutMs: 700 });
  });

  test('apply redirects the output of running instances', async () => {
    await applied([{}]);
    expect(rig.attached.get('i0-0')).toMatchObject({ outFile: '/home/nclust/logs/api-out-0.log', rateLimitBytes: 0 });
    expect(
      actions(await applied([{ outFile: '/var/log/api.log', logRateLimitBytes: 5_000, logType: 'json' }])),
    ).toEqual(['api: live']);
    expect(rig.attached.get('i0-0')).toMatchObject({
      outFile: '/var/log/api-0.log',
      rateLimitBytes: 5_000,
      logType: 'json',
    });
    await rig.boot();
    expect(rig.attached.get('i0-0')).toMatchObject({ outFile: '/var/log/api-0.log', logType: 'json' });
    expect(rig.spawned()).toHaveLength(1);
  });

  test('apply scales, and restores a count that was changed by hand', async () => {
    await applied([{ instances: 2 }]);
    const before = pids();
    expect((await applied([{ instances: 4 }])).plan).toEqual([
      { name: 'api', action: 'scale', changes: [{ field: 'instances', attribute: 'instances', before: 2, after: 4 }] },
    ]);
    expect(pids().slice(0, 2)).toEqual(before);
    void rig.call('scale', { target: 'api', instances: '1' });
    await rig.turn();
    expect(actions(await applied([{ instances: 4 }]))).toEqual(['api: scale']);
    expect(rig.running()).toEqual(['api/0', 'api/1', 'api/2', 'api/3']);
    expect(actions(await applied([{ instances: 1 }]))).toEqual(['api: scale']);
    expect(pids()).toEqual(before.slice(0, 1));
  });

  test('apply rolls out changes that need a new process, with a guard', async () => {
    await applied([{ instances: 2, env: { V: '1', GONE: 'x' } }]);
    const before = pids();
    const result = await applied([{ instances: 2, env: { V: '2' }, killTimeoutMs: 700 }]);
    expect(result.plan).toMatchObject([
      {
        action: 'rollout',
        changes: [
          { attribute: 'kill_timeout' },
          { attribute: 'env.GONE', before: 'x', after: null },
          { attribute: 'env.V', before: '1', after: '2' },
        ],
      },
    ]);
    expect(rig.keeper.alive.map(({ env }) => [env.V, env.GONE])).toEqual([
      ['2', undefined],
      ['2', undefined],
    ]);
    expect(pids().some((pid) => before.includes(pid))).toBe(false);
    expect(appOf()).toMatchObject({ rollout: { cause: 'reload' }, by: 'apply', previous: [] });
  });

  test.each([
    [1, 3],
    [3, 1],
  ])('apply rolls out and scales from %d to %d in one step', async (from, to) => {
    await applied([{ instances: from }]);
    const result = await applied([{ instances: to, args: ['x'] }]);
    expect(result.plan).toMatchObject([
      { action: 'rollout', changes: [{ attribute: 'args' }, { attribute: 'instances' }] },
    ]);
    expect([pids().length, appOf().slots.length, rig.spawned().length]).toEqual([to, to, from + to]);
    expect(actions(await dry([{ instances: to, args: ['x'] }]))).toEqual(['api: none']);
  });

  test('apply to another mode stops the old instances and closes their sockets before it starts new ones', async () => {
    await applied([{ mode: 'fork', instances: 1 }]);
    const verbs = [];
    rig.keeper.onDone = (verb) => void verbs.push(verb);
    expect(actions(await applied([{ mode: 'cluster', instances: 3 }]))).toEqual(['api: replace']);
    expect(verbs.filter((verb) => ['release', 'retire', 'forget', 'spawn'].includes(verb)).slice(0, 5)).toEqual([
      'release',
      'retire',
      'forget',
      'spawn',
      'spawn',
    ]);
    expect([...rig.keeper.released]).toContain('api\t0');
    expect(rig.keeper.alive.map(({ mode }) => mode)).toEqual(['cluster', 'cluster', 'cluster']);
  });

  test('apply to another kind waits until all old instances have exited', async () => {
    rig.keeper.behave = () => ({ listensAfterMs: 5, stopsAfterMs: 2_000 });
    await applied([{ instances: 2 }]);
    const request = apply([{ mode: 'fork', kind: 'exec', instances: 2 }]);
    await rig.turn(1_900);
    expect([request.state, rig.keeper.alive.length, rig.spawned().length]).toEqual(['pending', 2, 2]);
    await rig.turn(5_000);
    expect([request.state, rig.keeper.alive.map(({ mode }) => mode)]).toEqual(['done', ['exec', 'exec']]);
  });

  test('apply to another kind closes the old socket before the program that binds for itself starts', async () => {
    await applied([{ mode: 'fork', instances: 1 }]);
    const verbs = [];
    rig.keeper.onDone = (verb) => void verbs.push(verb);
    expect(actions(await applied([{ mode: 'fork', kind: 'exec', instances: 1 }]))).toEqual(['api: replace']);
    expect(verbs.filter((verb) => ['release', 'retire', 'spawn'].includes(verb))).toEqual([
      'release',
      'retire',
      'spawn',
    ]);
    expect([...rig.keeper.released]).toEqual(['api\t0']);
  });

  test('apply to fewer instances in another mode waits for the surplus ones, too', async () => {
    rig.keeper.behave = ({ label }) => ({ listensAfterMs: 5, stopsAfterMs: label.slot === 3 ? 2_000 : 5 });
    await applied([{ instances: 4 }]);
    const request = apply([{ mode: 'fork', instances: 1 }]);
    await rig.turn(1_900);
    expect([rig.keeper.alive.map(({ label }) => label.slot), rig.spawned().length]).toEqual([[3], 4]);
    await rig.turn(3_000);
    expect([request.state, rig.running()]).toEqual(['done', ['api/0']]);
  });

  test('apply starts stopped apps, and restarts apps that have failed', async () => {
    await applied([{ instances: 2 }, { name: 'bad', maxRestarts: 0 }]);
    void rig.call('stop', { targets: ['api'] });
    rig.keeper.behave = () => ({ exitsAfterMs: 1, code: 1 });
    void rig.call('restart', { targets: ['bad'] }).catch(() => {});
    await rig.turn(2_000);
    rig.keeper.behave = () => ({ listensAfterMs: 1 });
    expect((await rig.list()).map(({ status }) => status)).toEqual(['stopped', 'stopped', 'errored']);
    expect(actions(await applied([{ instances: 2 }, { name: 'bad', maxRestarts: 0 }]))).toEqual([
      'api: start',
      'bad: start',
    ]);
    expect(rig.running()).toEqual(['api/0', 'api/1', 'bad/0']);
  });

  test('apply starts the one stopped instance, and leaves the others alone', async () => {
    await applied([{ instances: 3 }]);
    const before = pids();
    void rig.call('stop', { targets: ['1'] });
    await rig.turn();
    expect(actions(await applied([{ instances: 3 }]))).toEqual(['api: start']);
    expect([before.filter((pid) => pids().includes(pid)), rig.running()]).toEqual([
      [before[0], before[2]],
      ['api/0', 'api/1', 'api/2'],
    ]);
  });

  test('apply does not restart an app that has finished its work, unless its work changes', async () => {
    rig.keeper.behave = () => ({ listensAfterMs: 5, exitsAfterMs: 100, code: 0 });
    await applied([{ autorestart: false }]);
    expect((await rig.list()).map(({ status }) => status)).toEqual(['stopped']);
    expect(actions(await applied([{ autorestart: false }]))).toEqual(['api: none']);
    expect(actions(await applied([{ autorestart: false, maxRestarts: 3 }]))).toEqual(['api: live']);
    expect(rig.spawned()).toHaveLength(1);
    expect(actions(await applied([{ autorestart: false, args: ['other'] }]))).toEqual(['api: start']);
    expect(rig.spawned()).toHaveLength(2);
  });

  test('apply leaves an app with autostart: false stopped, and stores its new settings', async () => {
    await applied([{ instances: 2 }]);
    void rig.call('stop', { targets: ['api'] });
    await rig.turn();
    expect(actions(await applied([{ instances: 2, autostart: false, env: { V: '2' } }]))).toEqual(['api: live']);
    expect([rig.running(), appOf().spec.env]).toEqual([[], { V: '2' }]);
    expect(actions(await dry([{ instances: 2, autostart: false, env: { V: '2' } }]))).toEqual(['api: none']);
    void rig.call('start', { targets: ['api'] });
    await rig.turn();
    expect(rig.keeper.alive.map(({ env }) => env.V)).toEqual(['2', '2']);
  });

  test('apply adds a new app with autostart: false as stopped', async () => {
    expect(actions(await applied([{ autostart: false, instances: 2 }, { name: 'worker' }]))).toEqual([
      'api: start',
      'worker: start',
    ]);
    expect([rig.running(), (await rig.list()).map(({ status }) => status)]).toEqual([
      ['worker/0'],
      ['stopped', 'stopped', 'online'],
    ]);
    expect(actions(await dry([{ autostart: false, instances: 2 }, { name: 'worker' }]))).toEqual([
      'api: none',
      'worker: none',
    ]);
  });

  test('apply keeps the environment of the shell, unless it is asked to use the present one', async () => {
    await applied([{ shellEnv: { A: '1' }, interpreter: '/node/20', file: '/node/20', nodeVersion: 'v20.1.0' }]);
    const elsewhere = { shellEnv: { A: '2' }, interpreter: '/node/24', file: '/node/24', nodeVersion: 'v24.1.0' };
    expect(actions(await applied([elsewhere]))).toEqual(['api: none']);
    expect(actions(await applied([{ ...elsewhere, env: { X: '1' } }]))).toEqual(['api: rollout']);
    expect(appOf().spec).toMatchObject({
      shellEnv: { A: '1' },
      interpreter: '/node/20',
      file: '/node/20',
      nodeVersion: 'v20.1.0',
    });
    const updated = await applied([{ ...elsewhere, env: { X: '1' } }], { updateEnv: true });
    expect(updated.plan).toMatchObject([
      { action: 'rollout', changes: [{ attribute: 'interpreter' }, { attribute: 'shell.A', before: '1', after: '2' }] },
    ]);
    expect(appOf().spec).toMatchObject({ shellEnv: { A: '2' }, interpreter: '/node/24', nodeVersion: 'v24.1.0' });
  });

  test('apply uses the interpreter that the file names', async () => {
    await applied([{ interpreter: '/node/20', file: '/node/20' }]);
    expect(actions(await dry([{ interpreter: '/node/24', file: '/node/24', interpreterGiven: '/node/24' }]))).toEqual([
      'api: rollout',
    ]);
  });

  test('apply keeps the reported version until a new instance runs', async () => {
    await applied([{ version: '1.0.0' }]);
    expect(actions(await applied([{ version: '1.1.0' }]))).toEqual(['api: none']);
    expect(actions(await applied([{ version: '1.1.0', killTimeoutMs: 9 }]))).toEqual(['api: live']);
    expect(appOf().spec.version).toBe('1.0.0');
    await applied([{ version: '1.1.0', args: ['x'] }]);
    expect(appOf().spec.version).toBe('1.1.0');
  });

  test('apply with prune deletes only apps that came from the same file and are no longer in it', async () => {
    await applied([{}, { name: 'old' }]);
    await applied([{ name: 'theirs' }], { file: '/srv/other.config.js' });
    void rig.start({ name: 'mine' });
    await rig.turn(2_000);
    expect(await dry([{}])).toMatchObject({ left: ['old'], plan: [{ name: 'api', action: 'none' }] });
    expect(actions(await applied([{}]))).toEqual(['api: none']);
    expect(rig.running()).toContain('old/0');
    expect(await applied([{}], { prune: true })).toMatchObject({
      left: [],
      plan: [{ action: 'none' }, { name: 'old', action: 'delete' }],
    });
    expect(rig.running()).toEqual(['api/0', 'mine/0', 'theirs/0']);
    expect(actions(await applied([], { prune: true }))).toEqual(['api: delete']);
  });

  test('apply with a part of a file ignores the other apps', async () => {
    await applied([{}, { name: 'other' }]);
    expect(await dry([{}], { isWhole: false, prune: true })).toMatchObject({ left: [], plan: [{ name: 'api' }] });
  });

  test('apply reports one app that fails after the others are done', async () => {
    rig.keeper.behave = () => ({ listensAfterMs: 10 });
    await applied(
      [{ env: { V: '1' } }, { name: 'worker', env: { V: '1' } }, { name: 'new', maxRestarts: 0 }].slice(0, 2),
    );
    rig.keeper.behave = ({ app, env }) =>
      app === 'api' && env.V === '2'
        ? { exitsAfterMs: 5, code: 1 }
        : app === 'new'
          ? { exitsAfterMs: 5, code: 7 }
          : { listensAfterMs: 200 };
    const request = apply([{ env: { V: '2' } }, { name: 'worker', env: { V: '2' } }, { name: 'new', maxRestarts: 0 }]);
    await rig.turn(30);
    expect(request.state).toBe('pending');
    await rig.turn(3_000);
    expect([request.state, request.error.code]).toEqual(['failed', 'ERR_NCLUST_APPLY_FAILED']);
    expect(request.error.message).toMatch(
      pattern(
        /^2 of 3 apps do not match the file: "api", "new"\. /,
        /Reload of "api" stopped: .* still serving\. The apply of "new" failed: /,
      ),
    );
    expect(request.error.data).toMatchObject({
      apps: [
        { name: 'api', code: 'ERR_NCLUST_RELOAD_FAILED' },
        { name: 'new', code: 'ERR_NCLUST_NOT_UP' },
      ],
      slots: [{ name: 'api' }, { name: 'new' }],
    });
    expect(rig.keeper.alive.map(({ app, env }) => `${app} ${env.V}`)).toEqual(['api 1', 'worker 2']);
  });

  test('apply keeps live changes after a failed rollout, and the next apply tries again', async () => {
    await applied([{ instances: 2, env: { V: '1' } }]);
    rig.keeper.behave = () => ({ exitsAfterMs: 5, code: 1 });
    const request = apply([{ instances: 2, env: { V: '2' }, killTimeoutMs: 700 }]);
    await rig.turn(3_000);
    expect([request.state, appOf().spec.env.V, appOf().spec.killTimeoutMs]).toEqual(['failed', '1', 700]);
    rig.keeper.behave = () => ({ listensAfterMs: 5 });
    expect(actions(await applied([{ instances: 2, env: { V: '2' }, killTimeoutMs: 700 }]))).toEqual(['api: rollout']);
    expect(rig.keeper.alive.map(({ env }) => env.V)).toEqual(['2', '2']);
  });

  test('apply brings a live change to all instances during a rollout, and to the rest when it fails', async () => {
    await applied([{ instances: 2, env: { V: '1' } }]);
    rig.keeper.behave = ({ label }) => (label.slot === 1 ? { exitsAfterMs: 300, code: 1 } : { listensAfterMs: 5 });
    void apply([{ instances: 2, env: { V: '2' } }]);
    await rig.turn(500);
    expect(appOf().previous).toHaveLength(1);
    void apply([{ instances: 2, env: { V: '2' }, killTimeoutMs: 700 }]);
    await rig.turn(5_000);
    expect(asked('retire')).toMatchObject([{ instanceId: 'i0-0', killTimeoutMs: 700 }]);
    expect([appOf().previous, appOf().spec].flat().map((one) => (one.spec ?? one).killTimeoutMs)).toEqual([700, 700]);
    void rig.call('stop', { targets: ['api'] });
    await rig.turn();
    expect(asked('retire').map(({ killTimeoutMs }) => killTimeoutMs)).toEqual([700, 700, 700]);
  });

  test('apply is done when the last old instance has exited', async () => {
    rig.keeper.behave = () => ({ listensAfterMs: 5, stopsAfterMs: 2_000 });
    await applied([{ env: { V: '1' } }]);
    const request = apply([{ env: { V: '2' } }]);
    await rig.turn(2_500);
    expect(request.state).toBe('pending');
    await rig.turn(1_000);
    expect(request.state).toBe('done');
  });

  test('apply replaces only instances that a halted rollout left behind', async () => {
    await applied([{ instances: 2, env: { V: '1' } }]);
    rig.keeper.behave = ({ label }) => (label.slot === 1 ? { exitsAfterMs: 5, code: 1 } : { listensAfterMs: 5 });
    void apply([{ instances: 2, env: { V: '2' } }]);
    await rig.turn(3_000);
    expect(rig.keeper.alive.map(({ env }) => env.V).sort()).toEqual(['1', '2']);
    const kept = rig.keeper.alive.find(({ env }) => env.V === '2').pid;
    rig.keeper.behave = () => ({ listensAfterMs: 5 });
    expect(actions(await applied([{ instances: 2, env: { V: '2' } }]))).toEqual(['api: rollout']);
    expect([rig.keeper.alive.map(({ env }) => env.V), pids().includes(kept)]).toEqual([['2', '2'], true]);
  });

  test('apply waits for a reload of the same app that is in progress', async () => {
    await applied([{ env: { V: '1' } }]);
    void apply([{ env: { V: '2' } }], { wait: false });
    await rig.turn(200);
    const request = apply([{ env: { V: '2' } }]);
    await rig.turn(100);
    expect(request.state).toBe('pending');
    await rig.turn(3_000);
    expect(actions(request.result)).toEqual(['api: none']);
  });

  test('apply is refused as a whole if one reload cannot succeed', async () => {
    await applied([{ env: { V: '1' } }, { name: 'worker', killTimeoutMs: 1 }]);
    rig.preflight = (specs) => {
      if (specs.length > 0) throw new Error(`no: ${specs.map(({ name }) => name)}`);
    };
    const request = apply([{ env: { V: '2' } }, { name: 'worker', killTimeoutMs: 2 }]);
    await rig.turn();
    expect([request.error.message, appOf('worker').spec.killTimeoutMs]).toEqual(['no: api', 1]);
  });

  test('apply names invalid parameters', async () => {
    await expect(rig.call('apply', { specs: [makeSpec(), makeSpec()] })).rejects.toThrow('"api" is in it twice');
    await expect(rig.call('apply', { specs: [{ name: 'x' }] })).rejects.toThrow('specs[0].script');
    await expect(rig.call('apply', { specs: 'x' })).rejects.toThrow('"specs"');
  });

  test('apply reports its progress', async () => {
    const request = apply([{ instances: 2 }, { name: 'worker' }], { progress: true });
    await rig.turn(2_000);
    expect(request.state).toBe('done');
    expect(rig.published.filter(({ kind }) => kind === 'progress')[0]).toMatchObject({ done: 0, total: 3 });
  });
});
