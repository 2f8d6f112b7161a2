import { noteDied } from '../events/process-events.js';
import { retireInstance } from './effects.js';
import { causeOf } from '../policy/death-cause.js';
import { tellExit } from '../events/bus.js';
import { logPlaceOf } from '../logs/place.js';
import { tell, writeNote } from '../keeper-link/tell.js';
import { keepServed, keepSpent } from '../metrics/lifetime-totals.js';
import { discount, forgetAsked, hasRecorded, recordDeath } from '../state/slot-history.js';
import { step } from './step.js';
import { hasShownUp, isKeptOut } from '../rollout/readiness.js';
import { recordSample } from '../rollout/compare.js';
import { memoryOf, seatOfInstance, seatsOfSlot } from '../state/registry.js';

/** @import { Address, Exit } from '../keeper-link/link.js' */
/** @import { ListenFailure } from '../../../lib/shared/wire/protocol.js' */
/** @import { Core } from '../keeper-link/tell.js' */
/** @import { Instance, Seat } from '../state/registry.js' */
/** @import { RecordedDeath } from '../state/slot-history.js' */

/**
 * The function that takes each event from the keeper.
 * @type {Record<string, (core: Core, instance: Instance, data: any) => void>}
 */
export const FACTS = {
  booted,
  listening,
  'listen-failed': listenFailed,
  ready,
  exited,
  gone,
  vitals: recordSample,
  'agent-failed': agentFailed,
};

/**
 * @param {Core} core
 * @param {Instance} instance
 * @param {{ atMs: number }} data
 */
function booted(core, instance, { atMs }) {
  instance.bootedAtMs = atMs;
  const seat = seatOfInstance(core.world, instance.instanceId);
  if (seat) step(core, seat, { type: 'booted' });
}

/**
 * A part of its agent is out of action, because something it builds on was replaced.
 * @param {Core} core
 * @param {Instance} instance
 * @param {{ part: string, message: string }} data  Of the process.
 */
function agentFailed(core, { label, instanceId }, { part, message }) {
  core.parts.journal('agent-failed', {
    app: label.name,
    id: label.id,
    instanceId,
    part,
    message,
  });
}

/**
 * @param {Core} core
 * @param {Instance} instance
 * @param {Address} data
 */
function listening(core, instance, { address, port, family }) {
  const isKnown = instance.addresses.some((known) => known.address === address && known.port === port);
  if (!isKnown) instance.addresses = [...instance.addresses, { address, port, family }];
  if (isPlaceOf(instance.listenFailure, { address, port, family })) instance.listenFailure = null;
  instance.bootedAtMs ??= core.parts.clock.nowMs();
  const seat = seatOfInstance(core.world, instance.instanceId);
  if (seat && hasShownUp(core.world, seat)) step(core, seat, { type: 'ready' });
}

/**
 * @param {ListenFailure | null} failure
 * @param {Address} where  An instance listens there.
 */
function isPlaceOf(failure, { address, port }) {
  return failure?.port === port && (port > 0 || failure.address === address);
}

/**
 * @param {Core} core
 * @param {Instance} instance
 * @param {ListenFailure} data
 */
function listenFailed(core, instance, { address, port, family, code, app, isUdp }) {
  const failure = { address, port, family, code, app, isUdp };
  const holder = app === null ? core.parts.findHolder(failure) : null;
  const isOwn = [...core.world.instances.values()].some(
    ({ pid, label }) => pid === holder?.pid && label.name === instance.label.name,
  );
  instance.listenFailure = { ...failure, holder: holder && { ...holder, isOwn } };
  const seat = seatOfInstance(core.world, instance.instanceId);
  if (seat) step(core, seat, { type: 'listenFailed' });
}

/**
 * @param {Core} core
 * @param {Instance} instance
 */
function ready(core, instance) {
  instance.isReady = true;
  const seat = seatOfInstance(core.world, instance.instanceId);
  if (seat && hasShownUp(core.world, seat)) step(core, seat, { type: 'ready' });
}

/**
 * @param {Core} core
 * @param {Instance} instance
 * @param {object} fact
 * @param {number} fact.pid
 * @param {number} fact.startedAtMs
 * @param {number | null} [fact.bootedAtMs]
 * @param {string | null} fact.outPipe
 * @param {string | null} fact.errPipe
 */
export function markSpawned(core, instance, { pid, startedAtMs, bootedAtMs = startedAtMs, outPipe, errPipe }) {
  Object.assign(instance, { pid, startedAtMs, bootedAtMs, outPipe, errPipe });
  attachLogs(core, instance);
  const seat = seatOfInstance(core.world, instance.instanceId);
  if (seat) step(core, seat, { type: 'spawned', startedAtMs });
}

/**
 * The process never existed: nothing to forget in the keeper.
 * @param {Core} core
 * @param {Instance} instance
 * @param {string} message
 */
export function onSpawnRefused(core, instance, message) {
  const atMs = core.parts.clock.nowMs();
  const seat = seatOfInstance(core.world, instance.instanceId);
  /** @type {RecordedDeath} */
  const death = {
    instanceId: instance.instanceId,
    atMs,
    pid: 0,
    code: null,
    signal: null,
    cause: 'spawn-failed',
    by: null,
    uptimeMs: 0,
    wasReady: false,
    lastLines: [message],
  };
  recordDeath(memoryOf(core.world, instance.label.id), death);
  noteDied(core, instance.label, death);
  if (isKeptOut(core.world, instance)) discount(memoryOf(core.world, instance.label.id), instance.label.spawns);
  core.world.instances.delete(instance.instanceId);
  core.parts.journal('spawn-failed', { app: instance.label.name, slot: instance.label.slot, message });
  if (seat) step(core, seat, { type: 'refused' });
}

/**
 * @param {Core} core
 * @param {Instance} instance
 * @param {Exit} exit
 */
function exited(core, instance, { code, signal, atMs }) {
  if (instance.exit) return;
  instance.exit = { code, signal, atMs };
  const seat = seatOfInstance(core.world, instance.instanceId);
  // Read before the death is written down, so that it has the last words.
  const lastLines = core.parts.logs.drain(instance.instanceId);
  const uptimeMs = Math.max(0, atMs - (instance.startedAtMs ?? atMs));
  if (!hasRecorded(memoryOf(core.world, instance.label.id), instance.instanceId))
    noteDeath(core, instance, seat, lastLines, uptimeMs);
  tellExit(core, instance, memoryOf(core.world, instance.label.id).asked[instance.instanceId] ?? null);
  if (seat) step(core, seat, { type: 'exited', code, uptimeMs });
}

/**
 * The listen() that a death is about.
 * @param {Instance} instance
 */
function failureOf({ listenFailure, addresses }) {
  return listenFailure && (addresses.length === 0 || listenFailure.isUdp) ? { listenFailure } : {};
}

/**
 * @param {Core} core
 * @param {Instance} instance
 * @param {Seat | null} seat
 * @param {string[]} lastLines
 * @param {number} uptimeMs
 */
function noteDeath(core, instance, seat, lastLines, uptimeMs) {
  const { world, parts } = core;
  const { instanceId, label, pid } = instance;
  const { code, signal, atMs } = /** @type {Exit} */ (instance.exit);
  const memory = memoryOf(world, label.id);
  const { signalledBy, isOrphan } = instance;
  const circumstances = {
    code,
    signal,
    asked: memory.asked[instanceId] ?? null,
    signalledBy,
    isOrphan,
    lastLines,
    hasOomKillGrown: parts.oom.hasGrown,
  };
  const death = {
    instanceId,
    atMs,
    pid,
    code,
    signal,
    ...causeOf(circumstances),
    uptimeMs,
    wasReady: wasServing(instance),
    lastLines,
    ...failureOf(instance),
  };
  recordDeath(memory, death);
  noteDied(core, label, death);
  if (isKeptOut(world, instance)) discount(memory, label.spawns);
  // Only unplanned deaths are logged: a stop of five hundred processes is not news. The last lines
  // of the process are in the log of events only, because people send this log to strangers, and
  // the lines may hold a password.
  if (!circumstances.asked) {
    const { lastLines: _, ...facts } = death;
    parts.journal('died', { app: label.name, slot: label.slot, ...facts });
  }
  // For one that sits in a seat, the seat's step writes the note.
  if (!seat) writeNote(core, label.id);
}

/** @param {Instance} instance */
function wasServing({ wasUp, isReady, addresses }) {
  return wasUp || isReady || addresses.length > 0;
}

/**
 * The last process of the tree is gone: nobody can write to the pipes any more.
 * @param {Core} core
 * @param {Instance} instance
 * @param {{ report?: unknown }} data
 */
function gone(core, instance, { report }) {
  const { world, parts } = core;
  const { instanceId, label } = instance;
  parts.logs.detach(instanceId);
  const seat = seatOfInstance(world, instanceId);
  const memory = memoryOf(world, label.id);
  world.instances.delete(instanceId);
  keepServed(memory, instanceId, report);
  keepSpent(memory, instance, report);
  // Before the step: its note has to go out before the spawn of a successor does.
  forgetAsked(memory, instanceId);
  if (seat?.life.state === 'stopping') step(core, seat, { type: 'gone' });
  else writeNote(core, label.id);
  tell(core, 'forget', { instanceId });
  forgetSlot(core, label.id);
}

/**
 * Nothing is left of a slot that is not in the list: its past goes too.
 * @param {Core} core
 * @param {number} id
 */
export function forgetSlot(core, id) {
  const { world } = core;
  const isListed = world.desired.apps.some((app) => app.slots.some((slot) => slot.id === id));
  const isAlive =
    [...world.instances.values()].some((instance) => instance.label.id === id) || seatsOfSlot(world, id).length > 0;
  if (isListed || isAlive || !world.memories.delete(id)) return;
  tell(core, 'note', { key: `slot:${id}`, value: null });
}

/**
 * @param {Core} core
 * @param {Instance} instance
 */
export function attachLogs({ parts, world }, instance) {
  parts.logs.attach(logPlaceOf(world, instance, parts.logsFolder));
}

/**
 * One process too many for its seat.
 * @param {Core} core
 * @param {Instance} instance
 * @param {'handover' | 'finish'} drain
 */
export function retireSurplus(core, instance, drain) {
  const memory = memoryOf(core.world, instance.label.id);
  memory.asked = { ...memory.asked, [instance.instanceId]: { cause: 'orphan', by: null } };
  writeNote(core, instance.label.id);
  retireInstance(core, instance, drain);
}
