import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createEventLog } from '../../../../daemon/control/journal/log.js';
import { managerEvent, teeToEventLog } from '../../../../daemon/control/journal/manager-events.js';
import { emptyDesired } from '../../../../daemon/control/state/desired.js';
import { readLastWords, toLogEntry } from '../../../../daemon/control/journal/process-events.js';
import { readEvents } from '../../../../lib/shared/event-log.js';
import { createRig } from '../control-rig.js';

async function booted() {
  const rig = createRig();
  await rig.boot();
  return rig;
}

/** @param {string} [kind] */
const takeEvents = (rig, kind) =>
  rig.noted
    .splice(0)
    .map(({ type }) => type)
    .filter((type) => !kind || type.startsWith(kind));

test('a start, a scale, a change and a stop are noted with the command that caused them', async () => {
  const rig = await booted();
  await Promise.all([rig.start({ name: 'api', mode: 'cluster', instances: 2, namespace: 'web' }), rig.turn()]);
  expect(rig.noted[0]).toMatchObject({
    type: 'added',
    app: 'api',
    namespace: 'web',
    by: 'start',
    instances: 2,
    generation: 1,
  });
  expect(takeEvents(rig)).toEqual(['added', 'started', 'started', 'ready', 'ready']);
  await Promise.all([rig.call('scale', { target: 'api', instances: '3' }), rig.turn()]);
  expect(rig.noted[0]).toMatchObject({ type: 'scaled', from: 2, to: 3, by: 'scale' });
  takeEvents(rig);
  await Promise.all([
    rig.call('restart', { targets: ['api'], spec: { killTimeoutMs: 77 }, env: { SHELL_PASSWORD: 'hunter2' } }),
    rig.turn(20_000),
  ]);
  expect(rig.noted.slice(0, 2)).toMatchObject([
    { type: 'config', attributes: ['kill_timeout'], by: 'restart' },
    { type: 'rollout:began', cause: 'restart', by: 'restart', generation: 2, instances: 3 },
  ]);
  expect(JSON.stringify(rig.noted)).not.toContain('hunter2');
  takeEvents(rig);
  await Promise.all([rig.call('stop', { targets: ['api'] }), rig.turn(20_000)]);
  expect(rig.noted[0]).toMatchObject({ type: 'stop', by: 'stop', slots: [0, 1, 2] });
  expect(rig.noted.slice(1)).toMatchObject(Array(3).fill({ type: 'died', cause: 'stop', by: 'stop' }));
  takeEvents(rig);
  await rig.call('delete', { targets: ['api'] });
  expect(takeEvents(rig)).toEqual(['deleted']);
});

test('kill is noted as the cause when it empties the list', async () => {
  const rig = await booted();
  await Promise.all([rig.start({ name: 'api' }), rig.turn()]);
  takeEvents(rig);
  rig.control.mutate('kill', 'kill-token', () => ({ desired: emptyDesired(), up: [], gone: [], about: [] }));
  void rig.control.end('kill');
  await rig.turn(20_000);
  expect(rig.noted.filter(({ type }) => type === 'deleted' || type === 'died')).toMatchObject([
    { type: 'deleted', app: 'api', by: 'kill' },
    { type: 'died', by: 'kill' },
  ]);
});

test.each(['stop', 'delete', 'restart', 'reload'])(
  'an app that does not listen is noted as having been up when a %s ends it',
  async (command) => {
    const rig = await booted();
    rig.keeper.behave = () => ({});
    await Promise.all([rig.start({ name: 'api', minUptimeMs: 1_000 }), rig.turn(5_000)]);
    takeEvents(rig);
    await Promise.all([rig.call(command, { targets: ['api'] }), rig.turn(20_000)]);
    expect(rig.noted.filter(({ type }) => type === 'died')).toMatchObject([
      { uptimeMs: expect.any(Number), wasReady: true },
    ]);
  },
);

test('an app that was up under the previous control is noted as such, even if it is stopped at once', async () => {
  const rig = await booted();
  rig.keeper.behave = () => ({});
  await Promise.all([rig.start({ name: 'api', minUptimeMs: 1_000 }), rig.turn(5_000)]);
  await rig.boot();
  takeEvents(rig);
  await Promise.all([rig.call('stop', { targets: ['api'] }), rig.turn(20_000)]);
  expect(rig.noted.filter(({ type }) => type === 'died')).toMatchObject([{ wasReady: true }]);
});

test('an app that is stopped before it is up is not noted as having been up', async () => {
  const rig = await booted();
  rig.keeper.behave = () => ({});
  void rig.start({ name: 'api', minUptimeMs: 1_000 }).catch(() => {});
  await rig.turn(500);
  await Promise.all([rig.call('stop', { targets: ['api'] }), rig.turn(20_000)]);
  expect(rig.noted.filter(({ type }) => type === 'died')).toMatchObject([{ wasReady: false }]);
});

test('a changed variable of the environment is noted by name, never with its value', async () => {
  const rig = await booted();
  const spec = { name: 'api', env: { DB_PASSWORD: 'old-secret', COLOUR: 'red' } };
  await Promise.all([rig.start(spec), rig.turn()]);
  takeEvents(rig);
  await Promise.all([
    rig.call('restart', { targets: ['api'], spec: { env: { DB_PASSWORD: 'new-secret', COLOUR: 'green' } } }),
    rig.turn(20_000),
  ]);
  expect(rig.noted[0]).toMatchObject({ type: 'config', attributes: ['env.COLOUR', 'env.DB_PASSWORD'] });
  expect(JSON.stringify(rig.noted)).not.toMatch(/old-secret|new-secret|green/);
});

test('crashes are noted with their pause and last lines, and with the final failure', async () => {
  const rig = await booted();
  await Promise.all([rig.start({ name: 'api', maxRestarts: 1 }), rig.turn(5_000)]);
  takeEvents(rig);
  rig.lastLines = [
    '/srv/app.js:3',
    'Error: connect ECONNREFUSED 127.0.0.1:5432',
    '    at connect (/srv/lib/db.js:1:2)',
    'Node.js v20.0.0',
  ];
  rig.keeper.behave = () => ({ exitsAfterMs: 10, code: 1 });
  rig.keeper.exit(rig.keeper.alive[0].instanceId, { code: 1 });
  await rig.turn(20_000);
  expect(rig.noted[0]).toMatchObject({
    type: 'died',
    app: 'api',
    id: 0,
    slot: 0,
    code: 1,
    signal: null,
    cause: 'crash',
    words: 'Error: connect ECONNREFUSED 127.0.0.1:5432',
    frame: 'connect (lib/db.js:1)',
    lines: rig.lastLines,
  });
  expect(rig.noted.find(({ type }) => type === 'backoff')).toMatchObject({ delayMs: 100, streak: 1 });
  expect(rig.noted.at(-1)).toMatchObject({ type: 'gave-up', crashes: 2 });
  expect(takeEvents(rig)).toEqual(['died', 'started', 'died', 'backoff', 'started', 'died', 'gave-up']);
});

test('the log of the manager has the death, and no line of the app, even if a note of it is refused', async () => {
  const rig = await booted();
  await Promise.all([rig.start({ name: 'api' }), rig.turn(5_000)]);
  rig.lastLines = ['Error: cannot reach postgres://me:hunter2@db', '    at hunter2 (/srv/a.js:1:1)'];
  rig.keeper.lacks.add('note');
  rig.keeper.exit(rig.keeper.alive[0].instanceId, { code: 1 });
  await rig.turn(20_000);
  expect(rig.events).toContainEqual(expect.objectContaining({ event: 'died', app: 'api', code: 1, cause: 'crash' }));
  expect(rig.events).toContainEqual(
    expect.objectContaining({ event: 'keeper-refused', verb: 'note', params: { key: 'slot:0' } }),
  );
  expect(JSON.stringify(rig.events)).not.toContain('hunter2');
});

test('a guarded rollout is noted step by step, with the command that caused it', async () => {
  const rig = await booted();
  await Promise.all([rig.start({ name: 'api', mode: 'cluster', instances: 2 }), rig.turn()]);
  takeEvents(rig);
  await Promise.all([rig.call('reload', { targets: ['api'] }), rig.turn(30_000)]);
  expect(rig.noted[0]).toMatchObject({ type: 'rollout:began', by: 'reload', isGuarded: true, generation: 2 });
  expect(takeEvents(rig, 'rollout')).toEqual(['rollout:began', 'rollout:canary', 'rollout:step']);
  expect(rig.events.find(({ event }) => event === 'rollout-done')).toMatchObject({ app: 'api', by: 'reload' });
  rig.keeper.behave = () => ({ exitsAfterMs: 10, code: 1 });
  rig.call('reload', { targets: ['api'] }).catch(() => {});
  await rig.turn(30_000);
  const halted = rig.events.find(({ event }) => event === 'rollout-halted');
  expect(managerEvent('rollout-halted', halted)).toMatchObject({
    type: 'rollout:halted',
    app: 'api',
    by: 'reload',
    reason: expect.stringContaining('exited with code 1'),
  });
});

test.each([
  ['triggered', { app: 'api', by: 'memory: 600 MB above 500 MB' }, { type: 'limit:memory', app: 'api' }],
  ['triggered', { app: 'api', by: 'watch: src/a.js changed' }, { type: 'trigger:watch' }],
  ['triggered', { app: 'api', by: 'cron: 0 3 * * *' }, { type: 'trigger:cron' }],
  ['log-limit', { app: 'api', id: 3, reason: 'the rate limit' }, { type: 'limit:logs', id: 3 }],
  [
    'rollout-rolled-back',
    { app: 'api', generation: 2, by: 'reload', reason: 'instance 1 exited with code 9' },
    { type: 'rollout:rolled-back', app: 'api', generation: 2, by: 'reload', reason: 'instance 1 exited with code 9' },
  ],
  ['keeper-lost', {}, { type: 'manager:keeper-lost' }],
  [
    'update-begun',
    { version: '2.0.0', root: '/opt', replaces: 'keeper' },
    { type: 'manager:update', version: '2.0.0' },
  ],
])('the entry "%s" %j of the manager is an event', (event, fields, expected) => {
  expect(managerEvent(event, fields)).toMatchObject(expected);
});

test('the event of a halted reload has the error line, and the log of the manager does not', () => {
  const [logged, noted] = [[], []];
  const log = teeToEventLog((event, fields) => void logged.push({ event, ...fields }), { note: (e) => noted.push(e) });
  log('rollout-halted', { app: 'api', reason: 'instance 0 exited', words: 'Error: hunter2', frame: 'f (a.js:1)' });
  expect(noted).toMatchObject([{ type: 'rollout:halted', words: 'Error: hunter2', frame: 'f (a.js:1)' }]);
  expect(logged).toEqual([{ event: 'rollout-halted', app: 'api', reason: 'instance 0 exited' }]);
});

test('entries that concern only the manager are not events', () => {
  expect(managerEvent('impossible', { app: 'api' })).toBeNull();
  expect(managerEvent('constructor')).toBeNull();
});

const DEATH = {
  instanceId: 'i',
  atMs: 1,
  pid: 7,
  code: 1,
  signal: null,
  cause: 'crash',
  by: null,
  uptimeMs: 1,
  wasReady: true,
};

test('an error far from the end is found, although a death keeps only the last 20 lines', () => {
  const lines = ['TypeError: no rows', ...Array(30).fill('    at f (/srv/src/a.js:1:1)')];
  expect(readLastWords(lines, '/srv')).toEqual({
    words: 'TypeError: no rows',
    frame: 'f (src/a.js:1)',
    lastLines: lines.slice(-20),
  });
  expect(readLastWords([])).toEqual({ lastLines: [] });
});

test('the event of a death has at most 6 lines, and 1,000 characters', () => {
  const death = { ...DEATH, ...readLastWords(Array(20).fill('x'.repeat(4_000))) };
  expect(JSON.stringify(toLogEntry({ type: 'died', death })).length).toBeLessThan(1_800);
  expect(toLogEntry({ type: 'died', death: { ...DEATH, ...readLastWords([]) } })).not.toHaveProperty('lines');
});

function onDisk() {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-events-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'events.log');
  const rig = createRig();
  rig.eventLog = () => {
    const eventLog = createEventLog({ path, nowMs: rig.clock.nowMs, managerLog: () => {} });
    onTestFinished(eventLog.close);
    // Notes an event first, as control does at "control-ready", so that the log is never empty.
    eventLog.note({ type: 'manager:ready' });
    return eventLog;
  };
  const lines = () =>
    readEvents(path)
      .filter(({ type }) => !type.startsWith('manager'))
      .map(({ type, instanceId }) => `${type} ${instanceId ?? ''}`.trim());
  return { rig, lines };
}

test('a control does not repeat events of adopted instances, and notes once those that are missing', async () => {
  const { rig, lines } = onDisk();
  await rig.boot();
  await Promise.all([rig.start({ name: 'api', mode: 'cluster', instances: 2 }), rig.turn()]);
  const before = lines();
  await rig.boot();
  await rig.turn();
  await rig.boot();
  await rig.turn();
  expect(lines()).toEqual(before);

  // An instance exits while no control runs. Two controls run after that, but only the
  // first notes the exit.
  rig.control.close();
  rig.keeper.exit(rig.keeper.alive[0].instanceId, { code: 9 });
  await rig.boot();
  await rig.turn();
  await rig.boot();
  await rig.turn();
  const after = lines();
  expect(after.filter((line) => line.startsWith('died'))).toEqual(['died i0-0']);
  expect(new Set(after).size).toBe(after.length);
});

test('each death is noted once, wherever control dies in a crash loop', async () => {
  for (let after = 1; after < 40; after++) {
    const { rig, lines } = onDisk();
    let left = after;
    await rig.boot(() => left-- > 0);
    rig.start({ name: 'api', maxRestarts: 3 }).catch(() => {});
    rig.keeper.behave = () => ({ exitsAfterMs: 20, code: 1 });
    await rig.turn(3_000);
    await rig.boot();
    await rig.turn(120_000);
    const all = lines();
    expect(new Set(all).size).toBe(all.length);
    const spawns = rig.spawned().length;
    if (rig.control.registry.desired.apps.length > 0)
      expect(all.filter((line) => line.startsWith('died')).length).toBe(
        rig.control.registry.histories.get(0)?.spawns ?? spawns,
      );
  }
});
