// Knows: what a control that starts finds: its keeper, running processes, orphans.
// Must not: start what is not wanted, or end what may be wanted.
// Start at: introduce() in meet-keeper.js, then adopt().
import { writeNote } from '../keeper-link/tell.js';
import { EFFECTS, fulfil, newInstance } from '../loop/effects.js';
import { attachLogs, forgetSlot, retireSurplus } from '../loop/keeper-events.js';
import { addSeat } from '../loop/reconcile.js';
import { isAddress } from '../loop/said-by-apps.js';
import { step } from '../loop/step.js';
import { BACKOFF_MAX_MS } from '../policy/restart-policy.js';
import { hasShownUp } from '../rollout/readiness.js';
import { specOf } from '../state/desired.js';
import { findSlot, isWanted, memoryOf, openScope, seatKey } from '../state/registry.js';
import { forgetAsked, hasRecorded } from '../state/slot-history.js';

/** @import { ChildFact } from '../keeper-link/link.js' */
/** @import { Core } from '../keeper-link/tell.js' */
/** @import { Asked } from '../policy/seat.js' */
/** @import { Instance, Label, Seat, World } from '../state/registry.js' */
/** @import { Memory } from '../state/slot-history.js' */

/** @typedef {{ event: 'exited' | 'gone', instanceId: string, data: object }} News */

/**
 * Makes records of what runs already, as if control had been there all the time: called when
 * control starts, and when a new keeper has taken over the orphans of a dead one. What has happened
 * meanwhile is then told as events, in `news`.
 * @param {Core} core
 * @param {ChildFact[]} children
 * @returns {{ news: News[], names: Set<string> }}
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
  return {
    news: known.flatMap(({ fact }) => newsOf(fact)),
    names: new Set(known.map(({ instance }) => instance.label.name)),
  };
}

/**
 * @param {Core} core
 * @param {ChildFact} fact
 * @returns {{ instance: Instance, fact: ChildFact } | null}
 */
function instanceOf(core, fact) {
  const written = /** @type {Label | null} */ (fact.label);
  if (core.world.instances.has(fact.instanceId) || typeof written?.id !== 'number') return null;
  // It may have been written before the app was renamed.
  const label = { ...written, name: findSlot(core.world, written.id)?.app.spec.name ?? written.name };
  const { pid, startedAtMs, addresses, isReady, isAdopted, outPipe, errPipe } = fact;
  const isStray = isLost(core, label.id);
  const { isGated = false, isParked = false, bootedAtMs = startedAtMs, listenFailure = null } = fact;
  const instance = {
    ...newInstance(fact.instanceId, label),
    pid,
    startedAtMs,
    bootedAtMs,
    addresses: addresses.filter(isAddress),
    listenFailure,
    isReady,
    isStray,
    isOrphan: isAdopted,
    isGated,
    isParked,
    outPipe,
    errPipe,
  };
  core.world.instances.set(fact.instanceId, instance);
  openScope(core.world, label.scope, written.name);
  const memory = memoryOf(core.world, label.id);
  memory.spawns = Math.max(memory.spawns, label.spawns);
  attachLogs(core, instance);
  return { instance, fact };
}

/**
 * Whether the list may have lost the slot of something that runs. Nothing new may get its id then,
 * or two apps would share one past.
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

/** @typedef {{ seat: Seat, instance: Instance, fact: ChildFact, asked: Asked | null }} Seated */

/**
 * @param {Core} core
 * @param {Instance} instance
 * @param {ChildFact} fact
 * @returns {Seated | null}  Null when it sits nowhere.
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
 * Why an instance is being retired. A note without a retirement is the last act of a control that
 * died between the two.
 * @param {Memory} memory
 * @param {ChildFact} fact
 */
function askedOf(memory, { instanceId, exit, isRetiring }) {
  return exit || isRetiring ? (memory.asked[instanceId] ?? null) : null;
}

/**
 * Whether a newer generation takes its place, so that "orphan" is the reason of a rollout and not
 * of a process too many.
 * @param {Core} core
 * @param {Instance} instance
 */
function isOld({ world }, { label }) {
  return findSlot(world, label.id)?.wish.generation !== label.generation;
}

/**
 * @param {World} world
 * @param {number} id
 * @param {number} generation
 */
function specFor(world, id, generation) {
  const app = findSlot(world, id)?.app;
  return app ? specOf(app, generation) : null;
}

/**
 * @param {Core} core
 * @param {Seated} seated
 */
function settleIn(core, { seat, instance, fact, asked }) {
  if (asked || fact.isRetiring) {
    seat.life = { ...seat.life, state: 'stopping', asked: asked ?? { cause: 'stop', by: null } };
    return;
  }
  if (seat.life.state !== 'starting') return;
  // An orphan was serving before its keeper died; it will not say it again.
  if (hasShownUp(core.world, seat) || fact.isAdopted || (fact.exit && instance.wasUp))
    step(core, seat, { type: 'ready' });
  else step(core, seat, { type: 'spawned', startedAtMs: fact.startedAtMs });
}

/**
 * One that was started behind a gate and is not there any more has been let in: it has passed.
 * @param {Instance} instance
 * @param {ChildFact} fact
 * @returns {'starting' | 'up' | 'parked'}
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
  return (
    spec !== null && !spec.waitReady && bootedAtMs !== null && (exit?.atMs ?? nowMs) - bootedAtMs >= spec.minUptimeMs
  );
}

/**
 * @param {ChildFact} fact
 * @returns {{ event: 'exited' | 'gone', instanceId: string, data: object }[]}
 */
function newsOf({ instanceId, exit, isGone, report }) {
  return [
    ...(exit ? [{ event: /** @type {const} */ ('exited'), instanceId, data: exit }] : []),
    ...(isGone ? [{ event: /** @type {const} */ ('gone'), instanceId, data: { report } }] : []),
  ];
}

/**
 * Seats that have no process: those in back-off go on waiting, those that failed stay so, and work
 * that is done stays done.
 * @param {Core} core
 */
function restore(core) {
  const { world, parts } = core;
  for (const app of world.desired.apps) {
    for (const wish of app.slots.filter((slot) => slot.want === 'up')) {
      const { ended, seat: past } = memoryOf(world, wish.id);
      if (ended && isWanted(world, { id: wish.id, generation: ended.generation })) fulfil(core, wish.id);
      else if (
        past &&
        isWanted(world, { id: wish.id, generation: past.generation }) &&
        !world.seats.has(seatKey(wish.id, past.generation))
      ) {
        if (past.state !== 'backoff' && past.state !== 'failed') continue;
        const seat = addSeat(world, {
          id: wish.id,
          generation: past.generation,
          slot: wish.slot,
          name: app.spec.name,
          spec: specOf(app, past.generation),
        });
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
