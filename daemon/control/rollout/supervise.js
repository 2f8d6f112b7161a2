// Knows: the desired state and the readiness of a guarded reload, and when to halt or roll it back.
// Must not: start or stop a process; the plan does that.
// Start at: reload() in changes.js, then readReadiness() in readiness.js and this file.
import { describeEnd } from '../../../lib/shared/death-text.js';
import { findApp, replaceApp, getSpec } from '../state/desired.js';
import { saveIfPossible } from '../state/store.js';
import { findSeat, getSlotHistory, listSeatsOfSlot } from '../state/registry.js';
import { finishRollout, haltRollout, rollBack } from './changes.js';
import { pingInstances, findComplaint } from './compare.js';
import { quoteDeath } from './reload-error.js';

/** @import { LoopContext } from '../context.js' */
/** @import { DesiredApp, Failure, DesiredSlot } from '../state/desired.js' */
/** @import { Registry } from '../state/registry.js' */

/** Interval of the pings to new instances while a window is open, in ms. */
const ASK_EVERY_MS = 1_000;

/**
 * Changes the desired state when an instance has failed, or when all slots are replaced. Reads only
 * the current state, so after a restart control decides the same. Only the reports of the old
 * instances are lost.
 *
 * Runs before every plan. Otherwise a control that starts would park an old instance if one new
 * instance is up and another has failed, and take it back at once.
 * @param {LoopContext} context
 * @param {string} name
 */
export function superviseRollout(context, name) {
  const { registry } = context;
  const app = findApp(registry.desired, name);
  if (!app?.rollout.isGuarded || registry.ending) return closeWindow(registry, name);
  const slots = app.slots.filter((slot) => slot.former && slot.want === 'up');
  const fault = findFault(context, app, slots);
  if (fault) return giveUp(context, app, slots, fault);
  if (slots.some((slot) => !isUp(registry, slot))) return undefined;
  return keepWindowOpen(context, app, slots)
    ? undefined
    : saveRollout(context, app, finishRollout(app), 'rollout-done');
}

/**
 * @param {Pick<Registry, 'seats'>} registry
 * @param {{ id: number, generation: number }} place
 */
export function isUp(registry, place) {
  return findSeat(registry, place)?.life.state === 'up';
}

/**
 * @param {LoopContext} context
 * @param {DesiredApp} app
 * @param {DesiredSlot[]} slots
 * @returns {Pick<Failure, 'reason' | 'slots'> | null}
 */
function findFault({ registry, parts }, app, slots) {
  const failed = slots
    .filter((slot) => findSeat(registry, slot)?.life.state === 'failed')
    .map((slot) => describeNotUp(registry, app, slot));
  if (failed.length > 0) return { reason: `instance ${failed[0].slot} ${failed[0].reason}`, slots: failed };
  const complaint = findComplaint(registry, app, parts.clock.nowMs());
  return complaint ? { reason: complaint, slots: [] } : null;
}

/**
 * @param {LoopContext} context
 * @param {DesiredApp} app
 * @param {DesiredSlot[]} slots
 * @param {Pick<Failure, 'reason' | 'slots'>} fault
 */
function giveUp(context, app, slots, fault) {
  const { registry, parts } = context;
  const isBackWanted = (app.rollout.windowMs ?? 0) > 0 && slots.some((slot) => hasReplaced(registry, slot));
  /** @type {Failure} */
  const failure = {
    kind: isBackWanted ? 'rolled-back' : 'halted',
    generation: Math.max(...slots.map((slot) => slot.generation)),
    ...fault,
    atMs: parts.clock.nowMs(),
  };
  const next = isBackWanted ? rollBack(app, failure) : haltRollout(app, failure, (slot) => isUp(registry, slot));
  saveRollout(context, app, next, isBackWanted ? 'rollout-rolled-back' : 'rollout-halted');
}

/**
 * Whether a newer instance is up. Any newer generation counts, because control starts another
 * generation if a keeper dies during the rollout.
 * @param {Registry} registry
 * @param {DesiredSlot} slot
 */
function hasReplaced(registry, { id, former }) {
  return listSeatsOfSlot(registry, id).some(
    (seat) => seat.life.state === 'up' && former !== undefined && seat.generation > former.generation,
  );
}

/**
 * @param {Registry} registry
 * @param {DesiredApp} app
 * @param {DesiredSlot} slot
 */
function describeNotUp(registry, app, { id, slot, generation }) {
  const { deaths } = getSlotHistory(registry, id);
  const instanceId = findSeat(registry, { id, generation })?.instanceId;
  const death = deaths.find((one) => one.instanceId === instanceId) ?? deaths.at(-1);
  const reason = death ? describeEnd(death, getSpec(app, generation)) : 'did not come up';
  return { id, name: app.spec.name, slot, reason, ...quoteDeath(death) };
}

/**
 * @param {LoopContext} context
 * @param {DesiredApp} app
 * @param {DesiredSlot[]} slots
 */
function keepWindowOpen(context, app, slots) {
  const { registry, parts } = context;
  const { windowMs = 0, windowEndsAtMs = null } = app.rollout;
  if (windowMs === 0 || slots.length === 0) return false;
  const name = app.spec.name;
  const open = registry.windows.get(name);
  if (open && open.endsAtMs === windowEndsAtMs) return !open.isOver;
  const endsAtMs = windowEndsAtMs ?? parts.clock.nowMs() + windowMs;
  if (windowEndsAtMs === null)
    saveRollout(
      context,
      app,
      { ...app, rollout: { ...app.rollout, windowEndsAtMs: endsAtMs } },
      'rollback-window-opened',
    );
  openWindow(context, name, endsAtMs, windowMs);
  return true;
}

/**
 * @param {LoopContext} context
 * @param {string} name
 * @param {number} endsAtMs
 * @param {number} windowMs
 */
function openWindow(context, name, endsAtMs, windowMs) {
  const { registry, parts, dispatch } = context;
  closeWindow(registry, name);
  // If the wall clock was set back, the time left is at most the length of the window.
  const leftMs = Math.min(windowMs, Math.max(0, endsAtMs - parts.clock.nowMs()));
  const cancelAsking = parts.clock.every(ASK_EVERY_MS, () => pingInstances(context, name));
  const cancelEnd = parts.clock.after(leftMs, () => {
    window.isOver = true;
    dispatch({ type: 'changed', names: [name] });
  });
  const cancel = () => {
    cancelAsking();
    cancelEnd();
  };
  const window = { endsAtMs, isOver: false, cancel };
  registry.windows.set(name, window);
}

/**
 * @param {Registry} registry
 * @param {string} name
 */
function closeWindow({ windows }, name) {
  windows.get(name)?.cancel();
  windows.delete(name);
}

/**
 * @param {LoopContext} context
 * @param {DesiredApp} before
 * @param {DesiredApp} after
 * @param {string} event
 */
function saveRollout(context, before, after, event) {
  const { registry, parts } = context;
  const { failure } = after.rollout;
  registry.desired = replaceApp(registry.desired, after);
  parts.managerLog(event, {
    app: after.spec.name,
    generation: before.generation,
    by: before.by,
    ...(failure ? { reason: failure.reason, words: failure.slots[0]?.words, frame: failure.slots[0]?.frame } : {}),
  });
  saveIfPossible(context);
}
