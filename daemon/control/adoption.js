import { attachLogs, forgetSlot, retireSurplus } from './facts.js';
import { BACKOFF_MAX_MS } from './backoff.js';
import { writeNote } from './core.js';
import { EFFECTS, fulfil, newInstance } from './effects.js';
import { forgetAsked, hasRecorded } from './memory.js';
import { addSeat } from './reconcile.js';
import { step } from './steps.js';
import { findSlot, memoryOf, seatKey } from './world.js';

/** @import { Core } from './core.js' */
/** @import { ChildFact } from './keeper-link.js' */
/** @import { Instance, Label, Seat } from './world.js' */

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
  for (const { instance, fact } of known) seatInstance(core, instance, fact);
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
  const label = /** @type {Label|null} */ (fact.label);
  if (core.world.instances.has(fact.instanceId) || typeof label?.id !== 'number') return null;
  const { pid, startedAtMs, addresses, isReady, isAdopted, outPipe, errPipe } = fact;
  const isStray = isLost(core, label.id);
  const instance = { ...newInstance(fact.instanceId, label), pid, startedAtMs, addresses, isReady, isStray, isOrphan: isAdopted, outPipe, errPipe };
  core.world.instances.set(fact.instanceId, instance);
  core.world.openScopes.set(label.scope, label.name);
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

/**
 * @param {Core} core
 * @param {Instance} instance
 * @param {ChildFact} fact
 */
function seatInstance(core, instance, fact) {
  const { world } = core;
  const memory = memoryOf(world, instance.label.id);
  const asked = askedOf(memory, fact);
  if (!asked) forgetAsked(memory, instance.instanceId);
  // It died, and that was dealt with: the seat has moved on without it.
  if (fact.exit && !asked && hasRecorded(memory, instance.instanceId)) return;
  if (instance.isStray) return;
  if (asked?.cause === 'orphan' && !isOld(core, instance)) return;
  const { id, slot, name, generation } = instance.label;
  if (world.seats.has(seatKey(id, generation))) {
    if (!fact.exit) retireSurplus(core, instance);
    return;
  }
  const seat = addSeat(world, { id, generation, slot, name, spec: findSlot(world, id)?.app.spec ?? null });
  seat.instanceId = instance.instanceId;
  settleIn(core, seat, fact, asked);
}

/**
 * Why an instance is being retired. A note without a retirement is the last act of a control that died between the two.
 * @param {import('./memory.js').Memory} memory
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
 * @param {Core} core
 * @param {Seat} seat
 * @param {ChildFact} fact
 * @param {import('./lifecycle.js').Asked|null} asked
 */
function settleIn(core, seat, fact, asked) {
  if (asked || fact.isRetiring) {
    seat.life = { ...seat.life, state: 'stopping', asked: asked ?? { cause: 'stop', by: null } };
    return;
  }
  seat.life = { ...seat.life, state: 'starting' };
  const hasSaidSo = seat.spec?.waitReady ? fact.isReady : fact.addresses.length > 0;
  // An orphan was serving before its keeper died; it will not say it again.
  if (hasSaidSo || fact.isAdopted || wasOldEnough(seat, fact)) step(core, seat, { type: 'ready' });
  else step(core, seat, { type: 'spawned', startedAtMs: fact.startedAtMs });
}

/**
 * @param {Seat} seat
 * @param {ChildFact} fact
 */
function wasOldEnough({ spec }, { exit, startedAtMs }) {
  return spec !== null && !spec.waitReady && exit !== null && exit.atMs - startedAtMs >= spec.minUptimeMs;
}

/**
 * Seats that have no process: those in back-off go on waiting, those that failed stay so, and work that is done stays done.
 * @param {Core} core
 */
function restore(core) {
  const { world, parts } = core;
  for (const app of world.desired.apps) {
    for (const wish of app.slots.filter((slot) => slot.want === 'up')) {
      const memory = memoryOf(world, wish.id);
      const past = memory.seat;
      if (memory.ended?.generation === wish.generation) fulfil(core, wish.id);
      else if (past?.generation === wish.generation && !world.seats.has(seatKey(wish.id, wish.generation))) {
        if (past.state !== 'backoff' && past.state !== 'failed') continue;
        const seat = addSeat(world, { id: wish.id, generation: wish.generation, slot: wish.slot, name: app.spec.name, spec: app.spec });
        seat.life = { ...seat.life, state: past.state };
        if (past.state === 'backoff') wait(core, seat, (past.untilMs ?? 0) - parts.clock.nowMs());
      }
    }
  }
}

/**
 * @param {Core} core
 * @param {Seat} seat
 * @param {number} leftMs
 */
function wait(core, seat, leftMs) {
  // No longer than the policy could have asked for, should the wall clock have been set back.
  const ms = Math.min(Math.max(0, leftMs), Math.max(BACKOFF_MAX_MS, seat.spec?.restartDelayMs ?? 0));
  EFFECTS.setTimer(core, seat, { type: 'setTimer', ms });
}

/**
 * @param {ChildFact} fact
 * @returns {{event: 'exited'|'gone', instanceId: string, data: object}[]}
 */
function newsOf({ instanceId, exit, isGone }) {
  return [
    ...(exit ? [{ event: /** @type {const} */ ('exited'), instanceId, data: exit }] : []),
    ...(isGone ? [{ event: /** @type {const} */ ('gone'), instanceId, data: {} }] : []),
  ];
}
