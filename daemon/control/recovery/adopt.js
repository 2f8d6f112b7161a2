import { attachLogs, forgetSlot, retireSurplus } from '../loop/keeper-events.js';
import { specOf } from '../state/desired.js';
import { writeNote } from '../keeper-link/tell.js';
import { newInstance } from '../loop/effects.js';
import { forgetAsked, hasRecorded } from '../state/slot-history.js';
import { addSeat } from '../loop/reconcile.js';
import { restore } from './restoring.js';
import { step } from '../loop/step.js';
import { hasShownUp } from '../rollout/readiness.js';
import { findSlot, memoryOf, openScope, seatKey } from '../state/registry.js';

/** @import { Core } from '../keeper-link/tell.js' */
/** @import { ChildFact } from '../keeper-link/link.js' */
/** @import { Instance, Label, Seat } from '../state/registry.js' */

/**
 * Makes records of what runs already, as if control had been there all the time: called when control starts, and when a new keeper has taken over the
 * orphans of a dead one. What has happened meanwhile is then told as events, in `news`.
 * @param {Core} core
 * @param {ChildFact[]} children
 * @returns {{news: {event: 'exited'|'gone', instanceId: string, data: object}[], names: Set<string>}}
 */
export function adopt(core, children) {
  const known = children.flatMap((fact) => instanceOf(core, fact) ?? []);
  known.sort((a, b) => a.instance.label.spawns - b.instance.label.spawns || a.fact.startedAtMs - b.fact.startedAtMs);
  const seated = known.flatMap(({ instance, fact }) => seatInstance(core, instance, fact) ?? []);
  // What a new instance has to show is measured by the old ones, so these come first.
  seated.sort((a, b) => a.seat.generation - b.seat.generation);
  for (const one of seated) settleIn(core, one);
  restore(core);
  for (const id of [...core.world.memories.keys()]) forgetSlot(core, id);
  return { news: known.flatMap(({ fact }) => newsOf(fact)), names: new Set(known.map(({ instance }) => instance.label.name)) };
}

/**
 * @param {Core} core
 * @param {ChildFact} fact
 * @returns {{instance: Instance, fact: ChildFact}|null}
 */
function instanceOf(core, fact) {
  const written = /** @type {Label|null} */ (fact.label);
  if (core.world.instances.has(fact.instanceId) || typeof written?.id !== 'number') return null;
  // It may have been written before the app was renamed.
  const label = { ...written, name: findSlot(core.world, written.id)?.app.spec.name ?? written.name };
  const { pid, startedAtMs, addresses, isReady, isAdopted, outPipe, errPipe } = fact;
  const isStray = isLost(core, label.id);
  const { isGated = false, isParked = false, bootedAtMs = startedAtMs } = fact;
  const instance = { ...newInstance(fact.instanceId, label), pid, startedAtMs, bootedAtMs, addresses, isReady, isStray, isOrphan: isAdopted, isGated, isParked, outPipe, errPipe };
  core.world.instances.set(fact.instanceId, instance);
  openScope(core.world, label.scope, written.name);
  const memory = memoryOf(core.world, label.id);
  memory.spawns = Math.max(memory.spawns, label.spawns);
  attachLogs(core, instance);
  return { instance, fact };
}

/**
 * Whether the list may have lost the slot of something that runs. Nothing new may get its id then, or two apps would share one past.
 * @param {Core} core
 * @param {number} id
 */
function isLost(core, id) {
  const { world } = core;
  const memory = memoryOf(world, id);
  const wasStray = memory.isStray;
  memory.isStray = !findSlot(world, id) && (wasStray || !core.isExact);
  if (memory.isStray !== wasStray) writeNote(core, id);
  if (id >= world.desired.nextId) world.desired = { ...world.desired, nextId: id + 1 };
  return memory.isStray;
}

/** @typedef {{seat: Seat, instance: Instance, fact: ChildFact, asked: import('../policy/lifecycle.js').Asked|null}} Seated */

/**
 * @param {Core} core
 * @param {Instance} instance
 * @param {ChildFact} fact
 * @returns {Seated|null}  Null when it sits nowhere.
 */
function seatInstance(core, instance, fact) {
  const { world } = core;
  const memory = memoryOf(world, instance.label.id);
  const asked = askedOf(memory, fact);
  if (!asked) forgetAsked(memory, instance.instanceId);
  // It died, and that was dealt with: the seat has moved on without it.
  if (fact.exit && !asked && hasRecorded(memory, instance.instanceId)) return null;
  if (instance.isStray) return null;
  if (asked?.cause === 'orphan' && !isOld(core, instance)) return null;
  if (fact.isAdopted && instance.isParked && !fact.exit && !asked) {
    // It cannot be taken back: no socket can be passed to an orphan.
    retireSurplus(core, instance, 'handover');
    return null;
  }
  const { id, slot, name, generation } = instance.label;
  if (world.seats.has(seatKey(id, generation))) {
    if (!fact.exit) retireSurplus(core, instance, 'finish');
    return null;
  }
  const seat = addSeat(world, { id, generation, slot, name, spec: specFor(world, id, generation) });
  seat.instanceId = instance.instanceId;
  const state = standingOf(instance, fact);
  seat.life = { ...seat.life, state };
  instance.wasUp = state !== 'starting' || wasOldEnough(seat, fact, core.parts.clock.nowMs());
  return { seat, instance, fact, asked };
}

/**
 * Why an instance is being retired. A note without a retirement is the last act of a control that died between the two.
 * @param {import('../state/slot-history.js').Memory} memory
 * @param {ChildFact} fact
 */
function askedOf(memory, { instanceId, exit, isRetiring }) {
  return exit || isRetiring ? memory.asked[instanceId] ?? null : null;
}

/** Whether a newer generation takes its place, so that "orphan" is the reason of a rollout and not of a process too many. @param {Core} core @param {Instance} instance */
function isOld({ world }, { label }) {
  return findSlot(world, label.id)?.wish.generation !== label.generation;
}

/**
 * @param {import('../state/registry.js').World} world
 * @param {number} id
 * @param {number} generation
 */
function specFor(world, id, generation) {
  const app = findSlot(world, id)?.app;
  return app ? specOf(app, generation) : null;
}

/** @param {Core} core @param {Seated} seated */
function settleIn(core, { seat, instance, fact, asked }) {
  if (asked || fact.isRetiring) {
    seat.life = { ...seat.life, state: 'stopping', asked: asked ?? { cause: 'stop', by: null } };
    return;
  }
  if (seat.life.state !== 'starting') return;
  // An orphan was serving before its keeper died; it will not say it again.
  if (hasShownUp(core.world, seat) || fact.isAdopted || (fact.exit && instance.wasUp)) step(core, seat, { type: 'ready' });
  else step(core, seat, { type: 'spawned', startedAtMs: fact.startedAtMs });
}

/**
 * One that was started behind a gate and is not there any more has been let in: it has passed.
 * @param {Instance} instance
 * @param {ChildFact} fact
 * @returns {'starting'|'up'|'parked'}
 */
function standingOf({ label }, { isParked, isGated }) {
  if (isParked) return 'parked';
  return label.isGated && isGated === false ? 'up' : 'starting';
}

/**
 * @param {Seat} seat
 * @param {ChildFact} fact
 * @param {number} nowMs
 */
function wasOldEnough({ spec }, { exit, startedAtMs, bootedAtMs = startedAtMs }, nowMs) {
  return spec !== null && !spec.waitReady && bootedAtMs !== null && (exit?.atMs ?? nowMs) - bootedAtMs >= spec.minUptimeMs;
}

/**
 * @param {ChildFact} fact
 * @returns {{event: 'exited'|'gone', instanceId: string, data: object}[]}
 */
function newsOf({ instanceId, exit, isGone, report }) {
  return [
    ...(exit ? [{ event: /** @type {const} */ ('exited'), instanceId, data: exit }] : []),
    ...(isGone ? [{ event: /** @type {const} */ ('gone'), instanceId, data: { report } }] : []),
  ];
}
