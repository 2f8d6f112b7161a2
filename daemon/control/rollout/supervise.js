// Knows: a guarded reload: its wishes, what an instance must show, when it is halted or taken back.
// Must not: start or stop a process; the plan does that.
// Start at: reload() in changes.js, then trialOf() in readiness.js and this file.
import { describeDeath } from '../../../lib/shared/death-text.js';
import { findApp, replaceApp, specOf } from '../state/desired.js';
import { memoryOf, seatKey, seatsOfSlot } from '../state/registry.js';
import { finishRollout, haltRollout, rollBack } from './changes.js';
import { pingInstances, findComplaint } from './compare.js';

/** @import { Cancel } from '../host/clock.js' */
/** @import { Core } from '../keeper-link/tell.js' */
/** @import { AppWish, Failure, SlotWish } from '../state/desired.js' */
/** @import { World } from '../state/registry.js' */

/** How often new instances are asked whether they still answer while a window is open, in ms. */
const ASK_EVERY_MS = 1_000;

/**
 * A rollback window that is open.
 * @typedef {object} Window
 * @property {number} endsAtMs
 * @property {boolean} isOver
 * @property {Cancel} cancel
 */

/**
 * Watches over the guarded rollout of an app: called before every plan, it changes what is wanted
 * when an instance has failed, or when all is done. It looks only at how things stand, so the next
 * control comes to the same conclusion; but for how the old instances did, which only the one that
 * watched them knows.
 * @param {Core} core
 * @param {string} name
 */
export function guard(core, name) {
  const { world } = core;
  const app = findApp(world.desired, name);
  if (!app?.rollout.isGuarded || world.ending) return closeWindow(world, name);
  const slots = app.slots.filter((slot) => slot.former && slot.want === 'up');
  const fault = faultOf(core, app, slots);
  if (fault) return giveUp(core, app, slots, fault);
  if (slots.some((slot) => !isUp(world, slot.id, slot.generation))) return undefined;
  return isWindowOpen(core, app, slots) ? undefined : conclude(core, app, finishRollout(app), 'rollout-done');
}

/**
 * @param {World} world
 * @param {number} id
 * @param {number} generation
 */
export function isUp(world, id, generation) {
  return world.seats.get(seatKey(id, generation))?.life.state === 'up';
}

/**
 * @param {Core} core
 * @param {AppWish} app
 * @param {SlotWish[]} slots
 * @returns {Pick<Failure, 'reason' | 'slots'> | null}
 */
function faultOf({ world, parts }, app, slots) {
  const failed = slots.filter((slot) => hasFailed(world, slot)).map((slot) => notUpOf(world, app, slot));
  if (failed.length > 0) return { reason: `instance ${failed[0].slot} ${failed[0].reason}`, slots: failed };
  const complaint = findComplaint(world, app, parts.clock.nowMs());
  return complaint ? { reason: complaint, slots: [] } : null;
}

/**
 * @param {World} world
 * @param {SlotWish} slot
 */
function hasFailed(world, { id, generation }) {
  return world.seats.get(seatKey(id, generation))?.life.state === 'failed';
}

/**
 * @param {Core} core
 * @param {AppWish} app
 * @param {SlotWish[]} slots
 * @param {Pick<Failure, 'reason' | 'slots'>} fault
 */
function giveUp(core, app, slots, fault) {
  const { world, parts } = core;
  const isBackWanted = (app.rollout.windowMs ?? 0) > 0 && slots.some((slot) => hasReplaced(world, slot));
  /** @type {Failure} */
  const failure = {
    kind: isBackWanted ? 'rolled-back' : 'halted',
    generation: Math.max(...slots.map((slot) => slot.generation)),
    ...fault,
    atMs: parts.clock.nowMs(),
  };
  const next = isBackWanted
    ? rollBack(app, failure)
    : haltRollout(app, failure, (id, generation) => isUp(world, id, generation));
  conclude(core, app, next, isBackWanted ? 'rollout-rolled-back' : 'rollout-halted');
}

/**
 * Whether a newer instance serves in the place of the one that was there: one of this rollout, or
 * of its beginning, when the keeper died since.
 * @param {World} world
 * @param {SlotWish} slot
 */
function hasReplaced(world, { id, former }) {
  return seatsOfSlot(world, id).some(
    (seat) => seat.life.state === 'up' && former !== undefined && seat.generation > former.generation,
  );
}

/**
 * @param {World} world
 * @param {AppWish} app
 * @param {SlotWish} slot
 */
function notUpOf(world, app, { id, slot, generation }) {
  const { deaths } = memoryOf(world, id);
  const instanceId = world.seats.get(seatKey(id, generation))?.instanceId;
  const death = deaths.find((one) => one.instanceId === instanceId) ?? deaths.at(-1);
  const reason = death ? describeDeath(death, specOf(app, generation)) : 'did not get up';
  const { lastLines = [], listenFailure } = death ?? {};
  return { id, name: app.spec.name, slot, reason, lastLines, ...(listenFailure ? { listenFailure } : {}) };
}

/**
 * @param {Core} core
 * @param {AppWish} app
 * @param {SlotWish[]} slots
 */
function isWindowOpen(core, app, slots) {
  const { world, parts } = core;
  const { windowMs = 0, windowEndsAtMs = null } = app.rollout;
  if (windowMs === 0 || slots.length === 0) return false;
  const name = app.spec.name;
  const open = world.windows.get(name);
  if (open && open.endsAtMs === windowEndsAtMs) return !open.isOver;
  const endsAtMs = windowEndsAtMs ?? parts.clock.nowMs() + windowMs;
  if (windowEndsAtMs === null)
    conclude(core, app, { ...app, rollout: { ...app.rollout, windowEndsAtMs: endsAtMs } }, 'rollback-window-opened');
  openWindow(core, name, endsAtMs, windowMs);
  return true;
}

/**
 * @param {Core} core
 * @param {string} name
 * @param {number} endsAtMs
 * @param {number} windowMs
 */
function openWindow(core, name, endsAtMs, windowMs) {
  const { world, parts, dispatch } = core;
  closeWindow(world, name);
  // No longer than it is, should the wall clock have been set back.
  const leftMs = Math.min(windowMs, Math.max(0, endsAtMs - parts.clock.nowMs()));
  const cancelAsking = parts.clock.every(ASK_EVERY_MS, () => pingInstances(core, name));
  const cancelEnd = parts.clock.after(leftMs, () => {
    window.isOver = true;
    dispatch({ type: 'changed', names: [name] });
  });
  const cancel = () => {
    cancelAsking();
    cancelEnd();
  };
  const window = { endsAtMs, isOver: false, cancel };
  world.windows.set(name, window);
}

/**
 * @param {World} world
 * @param {string} name
 */
function closeWindow({ windows }, name) {
  windows.get(name)?.cancel();
  windows.delete(name);
}

/**
 * On disk before anything acts on it. When it cannot be written it counts all the same: the next
 * control would come to the same conclusion.
 * @param {Core} core
 * @param {AppWish} before
 * @param {AppWish} after
 * @param {string} event
 */
function conclude({ world, parts }, before, after, event) {
  const { failure } = after.rollout;
  world.desired = replaceApp(world.desired, after);
  parts.journal(event, {
    app: after.spec.name,
    generation: before.generation,
    by: before.by,
    ...(failure ? { reason: failure.reason } : {}),
  });
  try {
    parts.store.save(world.desired);
  } catch (error) {
    parts.journal('state-write-failed', { message: /** @type {Error} */ (error).message });
  }
}
