import { expect, test } from 'vitest';
import { createJournal } from '../../../../daemon/control/journal/journal.js';
import { listHappenings } from '../../../../daemon/control/journal/process-events.js';
import { emptyDesired } from '../../../../daemon/control/state/desired.js';
import { createRegistry } from '../../../../daemon/control/state/registry.js';
import { asOrphans, createRig } from '../control-rig.js';

const asked = (cause) => ({ cause, by: cause });
const online = { event: 'online', manually: false };

test.each([
  [
    'a first start',
    'starting',
    null,
    'up',
    { type: 'ready' },
    { begunBy: 'start' },
    [online, { event: 'start', manually: true }],
  ],
  [
    'a restart by command',
    'starting',
    null,
    'up',
    { type: 'timer' },
    { begunBy: 'restart' },
    [online, { event: 'restart', manually: true }],
  ],
  [
    'a reload',
    'entering',
    null,
    'up',
    { type: 'admitted' },
    { begunBy: 'reload' },
    [online, { event: 'reload', manually: true }],
  ],
  ['the policy starting it again', 'starting', null, 'up', { type: 'ready' }, {}, [online]],
  ['what stays up', 'up', null, 'up', { type: 'ready' }, {}, []],
  ['a stop', 'stopping', asked('stop'), 'down', { type: 'gone' }, {}, [{ event: 'stop', manually: true }]],
  [
    'a stop in back-off',
    'backoff',
    null,
    'down',
    { type: 'stop', asked: asked('stop'), drain: 'finish' },
    {},
    [{ event: 'stop', manually: true }],
  ],
  ['a delete', 'stopping', asked('delete'), 'down', { type: 'gone' }, {}, [{ event: 'delete', manually: true }]],
  ['scaling down', 'stopping', asked('scale'), 'down', { type: 'gone' }, {}, [{ event: 'delete', manually: true }]],
  ['the old one of a restart', 'stopping', asked('restart'), 'down', { type: 'gone' }, {}, []],
  ['work that is done', 'up', null, 'down', { type: 'exited', code: 0, uptimeMs: 1 }, {}, []],
  [
    'too many crashes',
    'starting',
    null,
    'failed',
    { type: 'exited', code: 1, uptimeMs: 1 },
    {},
    [{ event: 'restart overlimit', manually: false }],
  ],
  ['a bad deploy', 'starting', null, 'failed', { type: 'exited', code: 1, uptimeMs: 1 }, { isOnProbation: true }, []],
])('%s has the events of PM2', (_what, state, why, to, event, { begunBy = null, isOnProbation = false }, words) => {
  const registry = createRegistry(emptyDesired());
  registry.seats.set('0:1', { begunBy });
  const journal = createJournal({ clock: { nowMs: () => 7 }, eventLog: { note: () => {} } }, registry);
  const seen = [];
  journal.follow({ wants: () => true, deliver: ({ event, manually }) => seen.push({ event, manually }) });
  const before = { state, asked: why, unstableAtMs: [] };
  for (const one of listHappenings(before, { ...before, state: to }, event, { effects: [], isOnProbation }))
    journal.publish({ ...one, id: 0, generation: 1 });
  expect(seen).toEqual(words);
});

const brief = (events) =>
  events.map(
    ({ event, manually, process: { id, status } }) => `${id} ${event}${manually ? ' by command' : ''} ${status}`,
  );

async function followed(params = {}) {
  const rig = createRig();
  await rig.boot();
  const answer = await rig.call('events', params);
  const since = () => brief(rig.happened.splice(0));
  return { rig, answer, since };
}

test('changes by commands are reported as they happen', async () => {
  const { rig, since } = await followed({ types: ['process:event'] });
  const start = rig.start({ name: 'api', mode: 'cluster' });
  await rig.turn();
  await start;
  expect(since()).toEqual(['0 online online', '0 start by command online']);
  for (const [method, words] of [
    ['restart', ['0 exit by command stopping', '0 online online', '0 restart by command online']],
    ['reload', ['0 online online', '0 reload by command online', '0 exit by command stopping']],
    ['stop', ['0 exit by command stopping', '0 stop by command stopped']],
  ]) {
    const change = rig.call(method, { targets: ['api'] });
    await rig.turn(10_000);
    await change;
    expect(since()).toEqual(words);
  }
  await rig.call('delete', { targets: ['api'] });
  expect(since()).toEqual(['0 delete by command stopped']);
});

test('a crash is reported with its exit and its restart, and one that fails for good is deleted once', async () => {
  const { rig, since } = await followed();
  const start = rig.start({ name: 'api', maxRestarts: 0 });
  await rig.turn(5_000);
  await start;
  since();
  rig.keeper.exit(rig.keeper.alive[0].instanceId, { code: 3 });
  await rig.turn();
  expect(rig.happened[0]).toMatchObject({
    type: 'process:event',
    event: 'exit',
    manually: false,
    process: { name: 'api', exitCode: 3, signal: null, status: 'stopped' },
  });
  expect(since()).toEqual(['0 exit stopped', '0 online online']);
  rig.keeper.behave = () => ({ exitsAfterMs: 1, code: 1 });
  rig.keeper.exit(rig.keeper.alive[0].instanceId, { signal: 'SIGKILL' });
  await rig.turn(5_000);
  expect(since()).toEqual(['0 exit stopped', '0 exit stopped', '0 restart overlimit errored']);
  await rig.call('delete', { targets: ['api'] });
  expect(since()).toEqual(['0 delete by command stopped']);
});

test('processes that a next keeper takes over cause no events, only their replacements do', async () => {
  const { rig, since } = await followed();
  await Promise.all([rig.start({ name: 'api' }), rig.turn()]);
  since();
  rig.orphans = asOrphans(rig.keeper.alive);
  rig.keeper.die();
  await rig.turn(10_000);
  expect(since()).toEqual(['0 online online', '0 exit stopping']);
});

test('unsubscribe ends a subscription, and the last one ends the subscription to messages of apps', async () => {
  const {
    rig,
    answer: { subscription },
  } = await followed();
  await Promise.all([rig.start({ name: 'api' }), rig.turn()]);
  const { instanceId } = rig.keeper.alive[0];
  expect(rig.keeper.isHeard).toBe(true);
  await rig.call('unsubscribe', { subscription });
  await rig.turn(1);
  expect(rig.keeper.isHeard).toBe(false);
  rig.happened.length = 0;
  rig.keeper.exit(instanceId, { code: 1 });
  await rig.turn();
  expect(rig.happened).toEqual([]);
});
