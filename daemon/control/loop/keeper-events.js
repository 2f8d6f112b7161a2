import { publishDeath, readLastWords } from '../journal/process-events.js';
import { retireInstance } from './effects.js';
import { findCause } from '../policy/death-cause.js';
import { findLogPlace } from '../logs/place.js';
import { tell, writeNote } from '../keeper-link/tell.js';
import { keepServed, keepSpent } from '../metrics/lifetime-totals.js';
import { countCrash, excludeSpawn, forgetAsked, hasRecorded, recordDeath } from '../state/slot-history.js';
import { step } from './step.js';
import { isExcused, isReady, isAwaitingAdmission } from '../rollout/readiness.js';
import { recordSample } from '../rollout/compare.js';
import { findSlot, getSlotHistory, findSeatOfInstance, listSeatsOfSlot } from '../state/registry.js';

/** @import { ListenFailure } from '../../../lib/shared/wire/protocol.js' */
/** @import { LoopContext } from '../context.js' */
/** @import { Asked } from '../policy/seat.js' */
/** @import { Activity, Address, Exit, Instance } from '../state/registry.js' */
/** @import { RecordedDeath } from '../state/slot-history.js' */

/** @type {Record<string, (context: LoopContext, instance: Instance, data: any) => void>} */
export const keeperEventHandlers = {
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
 * @param {LoopContext} context
 * @param {Instance} instance
 * @param {{ atMs: number }} data
 */
function booted(context, instance, { atMs }) {
  instance.bootedAtMs = atMs;
  const seat = findSeatOfInstance(context.registry, instance.instanceId);
  if (seat) step(context, seat, { type: 'booted' });
}

const FAULT_MAX_CHARS = 300;

/**
 * Logs that a part of the agent has stopped: the app has replaced something that this part uses.
 * @param {LoopContext} context
 * @param {Instance} instance
 * @param {{ part: string, message: string }} data
 */
function agentFailed(context, { label, instanceId }, { part, message }) {
  const fault = { part, message: message.slice(0, FAULT_MAX_CHARS) };
  context.parts.managerLog('agent-failed', { app: label.name, id: label.id, instanceId, ...fault });
}

/**
 * @param {LoopContext} context
 * @param {Instance} instance
 * @param {Address} data
 */
function listening(context, instance, { address, port, family }) {
  const isKnown = instance.addresses.some((known) => known.address === address && known.port === port);
  if (!isKnown) instance.addresses = [...instance.addresses, { address, port, family }];
  if (isPlaceOf(instance.listenFailure, { address, port, family })) instance.listenFailure = null;
  instance.bootedAtMs ??= context.parts.clock.nowMs();
  const seat = findSeatOfInstance(context.registry, instance.instanceId);
  if (seat && isReady(context.registry, seat)) step(context, seat, { type: 'ready' });
}

/**
 * @param {ListenFailure | null} failure
 * @param {Address} where
 */
function isPlaceOf(failure, { address, port }) {
  return failure?.port === port && (port > 0 || failure.address === address);
}

/**
 * @param {LoopContext} context
 * @param {Instance} instance
 * @param {ListenFailure} data
 */
function listenFailed(context, instance, { address, port, family, code, app, isUdp }) {
  instance.listenFailure = withHolder(context, instance, { address, port, family, code, app, isUdp });
  const seat = findSeatOfInstance(context.registry, instance.instanceId);
  if (seat) step(context, seat, { type: 'listenFailed' });
}

/**
 * The keeper reports only the failure. Control looks for the program that holds the address.
 * @param {LoopContext} context
 * @param {Instance} instance
 * @param {ListenFailure} failure
 * @returns {ListenFailure}
 */
export function withHolder({ parts, registry }, instance, failure) {
  const holder = failure.app === null ? parts.findHolder(failure) : null;
  const isOwn = [...registry.instances.values()].some(
    ({ pid, label }) => pid === holder?.pid && label.name === instance.label.name,
  );
  return { ...failure, holder: holder && { ...holder, isOwn } };
}

/**
 * @param {LoopContext} context
 * @param {Instance} instance
 */
function ready(context, instance) {
  instance.isReady = true;
  rememberReady(context, instance);
  const seat = findSeatOfInstance(context.registry, instance.instanceId);
  if (seat && isReady(context.registry, seat)) step(context, seat, { type: 'ready' });
}

/**
 * From now on, every instance of the app has to send `ready`.
 * @param {LoopContext} context
 * @param {Instance} instance
 */
export function rememberReady(context, { label }) {
  const history = getSlotHistory(context.registry, label.id);
  if (history.hasSentReady) return;
  history.hasSentReady = true;
  writeNote(context, label.id);
}

/**
 * An instance makes progress if its processes use this share of a core, and at least this CPU time,
 * or read and write this much. A program that only waits, and retries, uses less.
 */
const BUSY_SHARE = 0.05;
const BUSY_MS = 20;
const BUSY_BYTES = 64 * 1024;

/** Two looks at a shorter interval say nothing. */
const BETWEEN_LOOKS_MS = 100;

/**
 * @param {LoopContext} context
 * @param {Instance} instance
 * @param {Activity | null} activity  Null: the processes cannot be measured.
 */
export function noteActivity(context, instance, activity) {
  const { registry, parts } = context;
  const nowMs = parts.clock.nowMs();
  const before = instance.activity;
  if (!activity) instance.isProgressing = false;
  else if (!before || Math.abs(nowMs - before.atMs) >= BETWEEN_LOOKS_MS) {
    instance.activity = { ...activity, atMs: nowMs };
    if (before) instance.isProgressing = hasProgressed(before, instance.activity);
  }
  if (activity?.isListening) instance.hasSocket = true;
  const seat = findSeatOfInstance(registry, instance.instanceId);
  if (!seat) return;
  instance.isExcused ||= isExcused(registry, seat, instance, nowMs);
  step(context, seat, { type: isReady(registry, seat) ? 'ready' : 'looked' });
}

/**
 * @param {Activity & { atMs: number }} before
 * @param {Activity & { atMs: number }} now
 */
function hasProgressed(before, now) {
  const busyMs = Math.max(BUSY_MS, BUSY_SHARE * Math.abs(now.atMs - before.atMs));
  return now.cpuMs - before.cpuMs >= busyMs || now.ioBytes - before.ioBytes >= BUSY_BYTES;
}

/**
 * @param {LoopContext} context
 * @param {Instance} instance
 * @param {object} process
 * @param {number} process.pid
 * @param {number} process.startedAtMs
 * @param {number | null} [process.bootedAtMs]
 * @param {string | null} process.outPipe
 * @param {string | null} process.errPipe
 */
export function markSpawned(context, instance, { pid, startedAtMs, bootedAtMs = startedAtMs, outPipe, errPipe }) {
  Object.assign(instance, { pid, startedAtMs, bootedAtMs, outPipe, errPipe });
  attachLogs(context, instance);
  const seat = findSeatOfInstance(context.registry, instance.instanceId);
  if (seat) step(context, seat, { type: 'spawned', startedAtMs });
}

/**
 * Records a refused start as a death. Sends no `forget` to the keeper, because the process never
 * existed.
 * @param {LoopContext} context
 * @param {Instance} instance
 * @param {string} message
 */
export function onSpawnRefused(context, instance, message) {
  const atMs = context.parts.clock.nowMs();
  const seat = findSeatOfInstance(context.registry, instance.instanceId);
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
    ...readLastWords([message]),
  };
  noteDeath(context, instance, death, false);
  context.registry.instances.delete(instance.instanceId);
  if (seat) step(context, seat, { type: 'refused' });
}

/**
 * @param {LoopContext} context
 * @param {Instance} instance
 * @param {Exit} exit
 */
function exited(context, instance, { code, signal, atMs }) {
  if (instance.exit) return;
  instance.exit = { code, signal, atMs };
  const seat = findSeatOfInstance(context.registry, instance.instanceId);
  // Reads the last lines before the death is recorded, because the record includes these lines.
  const lastLines = context.parts.logs.drain(instance.instanceId);
  const uptimeMs = Math.max(0, atMs - (instance.startedAtMs ?? atMs));
  const history = getSlotHistory(context.registry, instance.label.id);
  if (!hasRecorded(history, instance.instanceId)) {
    const asked = history.asked[instance.instanceId] ?? null;
    noteDeath(context, instance, buildDeath(context, instance, { asked, lastLines, uptimeMs }), asked !== null);
    // If the instance has a seat, the seat's step writes the note.
    if (!seat) writeNote(context, instance.label.id);
  }
  const death = history.deaths.find((one) => one.instanceId === instance.instanceId);
  const isSignalled = death?.cause === 'signal' && death.by !== null;
  if (seat) step(context, seat, { type: 'exited', code, uptimeMs, isSignalled });
}

/** @param {Instance} instance */
function buildFailure({ listenFailure, addresses }) {
  return listenFailure && (addresses.length === 0 || listenFailure.isUdp) ? { listenFailure } : {};
}

/**
 * @param {LoopContext} context
 * @param {Instance} instance
 * @param {{ asked: Asked | null, lastLines: string[], uptimeMs: number }} o
 * @returns {RecordedDeath}
 */
function buildDeath({ parts, registry }, instance, { asked, lastLines, uptimeMs }) {
  const { instanceId, label, pid, signalledBy, isOrphan } = instance;
  const { code, signal, atMs } = /** @type {Exit} */ (instance.exit);
  const hasOomKillGrown = parts.oom.hasGrown;
  return {
    instanceId,
    atMs,
    pid,
    code,
    signal,
    ...findCause({ code, signal, asked, signalledBy, isOrphan, lastLines, hasOomKillGrown }),
    uptimeMs,
    wasReady: wasServing(instance),
    ...readLastWords(lastLines, findSlot(registry, label.id)?.app.spec.cwd),
    ...buildFailure(instance),
  };
}

/**
 * @param {LoopContext} context
 * @param {Instance} instance
 * @param {RecordedDeath} death
 * @param {boolean} isAsked
 */
function noteDeath(context, instance, death, isAsked) {
  const { label } = instance;
  const history = getSlotHistory(context.registry, label.id);
  recordDeath(history, death);
  if (isAwaitingAdmission(context.registry, instance)) excludeSpawn(history, label.spawns);
  else countCrash(history, death, findSlot(context.registry, label.id)?.app.spec);
  publishDeath(context, label, death, isAsked);
}

/** @param {Instance} instance */
function wasServing({ wasUp, isReady, addresses }) {
  return wasUp || isReady || addresses.length > 0;
}

/**
 * Forgets an instance after the last process of its tree has exited, because then no process can
 * write to the pipes any more.
 * @param {LoopContext} context
 * @param {Instance} instance
 * @param {{ report?: unknown }} data
 */
function gone(context, instance, { report }) {
  const { registry, parts } = context;
  const { instanceId, label } = instance;
  parts.logs.detach(instanceId);
  const seat = findSeatOfInstance(registry, instanceId);
  const history = getSlotHistory(registry, label.id);
  registry.instances.delete(instanceId);
  keepServed(history, instanceId, report);
  keepSpent(history, instance, report);
  // Removes the reason before the step, because the step sends the note to the keeper before it
  // spawns a successor.
  forgetAsked(history, instanceId);
  if (seat?.life.state === 'stopping') step(context, seat, { type: 'gone' });
  else writeNote(context, label.id);
  tell(context, 'forget', { instanceId });
  forgetSlot(context, label.id);
}

/**
 * @param {LoopContext} context
 * @param {number} id
 */
export function forgetSlot(context, id) {
  const { registry } = context;
  const isListed = registry.desired.apps.some((app) => app.slots.some((slot) => slot.id === id));
  const isAlive =
    [...registry.instances.values()].some((instance) => instance.label.id === id) ||
    listSeatsOfSlot(registry, id).length > 0;
  if (isListed || isAlive || !registry.histories.delete(id)) return;
  tell(context, 'note', { key: `slot:${id}`, value: null });
}

/**
 * @param {LoopContext} context
 * @param {Instance} instance
 * @param {boolean} [isAdopted]  An earlier control has read the pipes.
 */
export function attachLogs({ parts, registry }, instance, isAdopted = false) {
  parts.logs.attach(findLogPlace(registry, instance, parts.logsFolder), isAdopted);
}

/**
 * @param {LoopContext} context
 * @param {Instance} instance
 * @param {'handover' | 'finish'} drain
 */
export function retireSurplus(context, instance, drain) {
  const history = getSlotHistory(context.registry, instance.label.id);
  history.asked = { ...history.asked, [instance.instanceId]: { cause: 'orphan', by: null } };
  writeNote(context, instance.label.id);
  retireInstance(context, instance, drain);
}
