// Knows: how control, when it starts, takes over the keeper, the processes and the orphans. Must
// not: start a process that is not wanted, or end a process that may be wanted.
import { withoutChannel } from '../../../lib/app-spec/channel.js';
import { writeNote } from '../keeper-link/tell.js';
import { EFFECTS, recordFinishedSlot, newInstance } from '../loop/effects.js';
import { attachLogs, forgetSlot, rememberReady, retireSurplus, withHolder } from '../loop/keeper-events.js';
import { addSeat } from '../loop/reconcile.js';
import { step } from '../loop/step.js';
import { BACKOFF_MAX_MS } from '../policy/restart-policy.js';
import { isExcused, isReady } from '../rollout/readiness.js';
import { getSpec } from '../state/desired.js';
import { isCautious } from '../state/keeper-deaths.js';
import { findSlot, isWanted, getSlotHistory, listSeatsOfSlot, openScope, seatKey } from '../state/registry.js';
import { forgetAsked, hasRecorded } from '../state/slot-history.js';

/** @import { LoopContext } from '../context.js' */
/** @import { ChildSnapshot } from '../keeper-link/link.js' */
/** @import { Instance, Label, Seat } from '../state/registry.js' */
/** @import { EndRequest, SlotHistory } from '../state/slot-history.js' */

/** @typedef {{ event: 'exited' | 'gone', instanceId: string, data: object }} News */

/**
 * Control calls this when it starts, and when it connects to a new keeper. `news`: the events that
 * control missed. `names`: the apps of the adopted processes.
 * @param {LoopContext} context
 * @param {ChildSnapshot[]} children
 * @returns {{ news: News[], names: Set<string> }}
 */
export function adopt(context, children) {
  const known = children.flatMap((child) => buildInstance(context, child) ?? []);
  // After all instances are known, because one of them may hold the address of another.
  for (const { instance } of known)
    if (instance.listenFailure) instance.listenFailure = withHolder(context, instance, instance.listenFailure);
  known.sort(
    (a, b) =>
      computeRank(context, a.instance) - computeRank(context, b.instance) ||
      a.instance.label.spawns - b.instance.label.spawns ||
      a.child.startedAtMs - b.child.startedAtMs,
  );
  const seated = known.flatMap(({ instance, child }) => seatInstance(context, instance, child) ?? []);
  // Old instances come first, because the readiness of a new instance depends on them.
  seated.sort((a, b) => a.seat.generation - b.seat.generation);
  for (const one of seated) resume(context, one);
  restore(context);
  for (const id of [...context.registry.histories.keys()]) forgetSlot(context, id);
  return {
    news: known.flatMap(({ child }) => listNews(child)),
    names: new Set(known.map(({ instance }) => instance.label.name)),
  };
}

/**
 * @param {LoopContext} context
 * @param {ChildSnapshot} child
 * @returns {{ instance: Instance, child: ChildSnapshot } | null}
 */
function buildInstance(context, child) {
  const written = /** @type {Label | null} */ (child.label);
  if (context.registry.instances.has(child.instanceId) || typeof written?.id !== 'number') return null;
  // Takes the name from the list, because the label may be older than the last rename of the app.
  const label = { ...written, name: findSlot(context.registry, written.id)?.app.spec.name ?? written.name };
  const { pid, startedAtMs, addresses, isReady, isAdopted, outPipe, errPipe } = child;
  const isStray = markIfStray(context, label.id);
  const { isGated = false, isParked = false, bootedAtMs = startedAtMs, listenFailure = null } = child;
  const instance = {
    ...newInstance(child.instanceId, label),
    pid,
    startedAtMs,
    bootedAtMs,
    onlineSinceMs: getSlotHistory(context.registry, label.id).onlineSinceMs?.[child.instanceId] ?? null,
    addresses,
    listenFailure,
    isReady,
    isStray,
    isOrphan: isAdopted,
    isGated,
    isParked,
    outPipe,
    errPipe,
  };
  context.registry.instances.set(child.instanceId, instance);
  if (isReady) rememberReady(context, instance);
  openScope(context.registry, label.scope, written.name);
  const history = getSlotHistory(context.registry, label.id);
  history.spawns = Math.max(history.spawns, label.spawns);
  attachLogs(context, instance, true);
  return { instance, child };
}

/**
 * Marks a slot as stray if the list does not contain the slot, but may have lost it. Writes a
 * change into the note of the slot. Reserves the id, because a new app with this id would share the
 * history of the old app.
 * @param {LoopContext} context
 * @param {number} id
 */
function markIfStray(context, id) {
  const { registry } = context;
  const history = getSlotHistory(registry, id);
  const wasStray = history.isStray;
  history.isStray = !findSlot(registry, id) && (wasStray || !context.isExact);
  if (history.isStray !== wasStray) writeNote(context, id);
  if (id >= registry.desired.nextId) registry.desired = { ...registry.desired, nextId: id + 1 };
  return history.isStray;
}

/** @typedef {{ seat: Seat, instance: Instance, child: ChildSnapshot, asked: EndRequest | null }} Seated */

/**
 * @param {LoopContext} context
 * @param {Instance} instance
 * @param {ChildSnapshot} child
 * @returns {Seated | null}
 */
function seatInstance(context, instance, child) {
  const { registry } = context;
  const history = getSlotHistory(registry, instance.label.id);
  const asked = endReason(history, child);
  if (!asked) forgetAsked(history, instance.instanceId);
  // The history contains this death, so control has already handled the exit.
  if (child.exit && !asked && hasRecorded(history, instance.instanceId)) return null;
  if (instance.isStray) return null;
  if (asked?.cause === 'orphan' && !isOld(context, instance)) return null;
  if (child.isAdopted && instance.isParked && !child.exit && !asked) {
    // A parked orphan cannot serve again, because the keeper cannot pass a socket to an orphan.
    retireSurplus(context, instance, 'handover');
    return null;
  }
  if (child.isAdopted && !child.exit && !asked && isSurplus(context, instance)) {
    registry.keeperDeaths.surplus.add(instance.instanceId);
    retireSurplus(context, instance, 'handover');
    return null;
  }
  const { id, slot, name, generation } = instance.label;
  if (registry.seats.has(seatKey(id, generation))) {
    if (!child.exit) retireSurplus(context, instance, 'finish');
    return null;
  }
  const app = findSlot(registry, id)?.app;
  const spec = app ? getSpec(app, generation) : null;
  const own = spec && instance.label.hasNoChannel ? withoutChannel(spec) : spec;
  const seat = addSeat(registry, { id, generation, slot, name, spec: own });
  seat.instanceId = instance.instanceId;
  const state = initialState(instance, child);
  seat.life = { ...seat.life, state };
  instance.isExcused = isExcused(registry, seat, instance, context.parts.clock.nowMs());
  instance.wasUp =
    instance.onlineSinceMs !== null ||
    state !== 'starting' ||
    instance.isExcused ||
    wasOldEnough(seat, child, context.parts.clock.nowMs());
  return { seat, instance, child, asked };
}

/**
 * If a slot keeps one orphan, it must not be one that the dead keeper has already drained.
 * @param {LoopContext} context
 * @param {Instance} instance
 */
function computeRank({ registry, parts }, { instanceId, label, isOrphan }) {
  const isDrained = isOrphan && getSlotHistory(registry, label.id).asked[instanceId] !== undefined;
  return isDrained && isCautious(registry, parts.clock.nowMs()) ? 1 : 0;
}

/**
 * Keepers die again and again, perhaps because of this app. Then each of them would leave another
 * process. An instance without a channel binds its ports itself, so no orphan may run beside it.
 * @param {LoopContext} context
 * @param {Instance} instance
 */
function isSurplus({ registry, parts }, { label }) {
  if (getSlotHistory(registry, label.id).hasNoChannel) return true;
  if (!isCautious(registry, parts.clock.nowMs())) return false;
  return listSeatsOfSlot(registry, label.id).some(
    ({ instanceId }) => registry.instances.get(instanceId ?? '')?.isOrphan,
  );
}

/**
 * Ignores the reason in the note if the instance runs and is not retiring: an earlier control saved
 * the reason, but died before it asked the keeper to retire the instance.
 * @param {SlotHistory} history
 * @param {ChildSnapshot} child
 */
function endReason(history, { instanceId, exit, isRetiring }) {
  return exit || isRetiring ? (history.asked[instanceId] ?? null) : null;
}

/**
 * Whether the instance is not in the current generation of its slot. If an orphan in the current
 * generation is being retired, the orphan is surplus and gets no seat.
 * @param {LoopContext} context
 * @param {Instance} instance
 */
function isOld({ registry }, { label }) {
  return findSlot(registry, label.id)?.slot.generation !== label.generation;
}

/**
 * @param {LoopContext} context
 * @param {Seated} seated
 */
function resume(context, { seat, instance, child, asked }) {
  if (asked || child.isRetiring) {
    const { cause, by } = asked ?? { cause: 'stop', by: null };
    seat.life = { ...seat.life, state: 'stopping', asked: { cause, by } };
    seat.sinceMs = asked?.atMs ?? context.parts.clock.nowMs();
    return;
  }
  // An orphan counts as ready, because it does not report to the new keeper that it is ready.
  const isUp = isReady(context.registry, seat) || child.isAdopted || (child.exit && instance.wasUp);
  // If it was ready while no control ran, the message "ready" came later than this, at a time that
  // only the next step knows.
  if ((isUp || instance.wasUp) && !seat.spec?.waitReady) instance.onlineSinceMs ??= instance.bootedAtMs;
  seat.sinceMs = instance.onlineSinceMs ?? child.startedAtMs;
  if (seat.life.state !== 'starting') return;
  if (isUp) step(context, seat, { type: 'ready' });
  else step(context, seat, { type: 'spawned', startedAtMs: child.startedAtMs });
}

/**
 * If an instance was started behind a gate and the gate is open now, it has passed its probation.
 * @param {Instance} instance
 * @param {ChildSnapshot} child
 * @returns {'starting' | 'up' | 'parked'}
 */
function initialState({ label }, { isParked, isGated }) {
  if (isParked) return 'parked';
  return label.isGated && isGated === false ? 'up' : 'starting';
}

/**
 * @param {Seat} seat
 * @param {ChildSnapshot} child
 * @param {number} nowMs
 */
function wasOldEnough({ spec }, { exit, startedAtMs, bootedAtMs = startedAtMs }, nowMs) {
  return (
    spec !== null && !spec.waitReady && bootedAtMs !== null && (exit?.atMs ?? nowMs) - bootedAtMs >= spec.minUptimeMs
  );
}

/**
 * @param {ChildSnapshot} child
 * @returns {{ event: 'exited' | 'gone', instanceId: string, data: object }[]}
 */
function listNews({ instanceId, exit, isGone, report }) {
  return [
    ...(exit ? [{ event: /** @type {const} */ ('exited'), instanceId, data: exit }] : []),
    ...(isGone ? [{ event: /** @type {const} */ ('gone'), instanceId, data: { report } }] : []),
  ];
}

/**
 * A seat in back-off continues to wait, a failed seat stays failed, and a finished slot stays
 * finished.
 * @param {LoopContext} context
 */
function restore(context) {
  const { registry, parts } = context;
  for (const app of registry.desired.apps) {
    for (const slot of app.slots.filter((slot) => slot.want === 'up')) {
      const { ended, seat: past, deaths } = getSlotHistory(registry, slot.id);
      if (ended && isWanted(registry, { id: slot.id, generation: ended.generation })) recordFinishedSlot(context, slot);
      else if (
        past &&
        isWanted(registry, { id: slot.id, generation: past.generation }) &&
        !registry.seats.has(seatKey(slot.id, past.generation))
      ) {
        if (past.state !== 'backoff' && past.state !== 'failed') continue;
        const seat = addSeat(registry, {
          id: slot.id,
          generation: past.generation,
          slot: slot.slot,
          name: app.spec.name,
          spec: getSpec(app, past.generation),
        });
        seat.life = { ...seat.life, state: past.state };
        seat.sinceMs = deaths.at(-1)?.atMs ?? parts.clock.nowMs();
        if (past.state === 'backoff') wait(context, seat, (past.untilMs ?? 0) - parts.clock.nowMs());
      }
    }
  }
}

/**
 * @param {LoopContext} context
 * @param {Seat} seat
 * @param {number} leftMs
 */
function wait(context, seat, leftMs) {
  // The wall clock may have been set back, so the wait has an upper limit.
  const ms = Math.min(Math.max(0, leftMs), Math.max(BACKOFF_MAX_MS, seat.spec?.restartDelayMs ?? 0));
  EFFECTS.setTimer(context, seat, { type: 'setTimer', ms }, context.parts.clock.nowMs());
}
