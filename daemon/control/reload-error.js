import { NclustError } from '../../lib/shared/errors.js';
import { seatsOfSlot } from './world.js';

/** @import { AppWish, Failure } from './desired.js' */
/** @import { World } from './world.js' */

/**
 * Why a reload did not come about, and what runs instead.
 * @param {World} world
 * @param {AppWish} app  With its failure.
 * @returns {NclustError}
 */
export function reloadError(world, app) {
  const { name } = app.spec;
  const { kind, reason, slots } = /** @type {Failure} */ (app.rollout.failure);
  const running = app.slots.flatMap(({ id, slot }) => servingIn(world, id).map(({ generation }) => ({ slot, generation })));
  const hint = `See: nclust logs ${name}${slots.length > 0 ? ` and nclust describe ${slots[0].id}` : ''}`;
  const what = kind === 'rolled-back' ? 'was rolled back' : 'stopped';
  const code = kind === 'rolled-back' ? 'ERR_NCLUST_ROLLED_BACK' : 'ERR_NCLUST_RELOAD_FAILED';
  return new NclustError(code, `Reload of "${name}" ${what}: ${reason}. ${describeRunning(app, running)}`, { hint, data: { slots, running, kind } });
}

/**
 * @param {AppWish} app
 * @returns {string|null}  One sentence for people, about an app that was rolled back last.
 */
export function describeRollback({ spec, rollout: { failure } }) {
  if (failure?.kind !== 'rolled-back') return null;
  return `The reload of "${spec.name}" of ${new Date(failure.atMs).toISOString()} was rolled back: ${failure.reason}.`;
}

/**
 * @param {World} world
 * @param {number} id
 */
function servingIn(world, id) {
  return seatsOfSlot(world, id).filter((seat) => seat.life.state === 'up').slice(-1);
}

/**
 * @param {AppWish} app
 * @param {{slot: number, generation: number}[]} running
 */
function describeRunning({ rollout }, running) {
  const failed = rollout.failure?.generation ?? Infinity;
  const still = rollout.failure?.kind === 'rolled-back' ? 'serving again' : 'still serving';
  const old = running.filter(({ generation }) => generation < failed);
  const renewed = running.filter(({ generation }) => generation >= failed);
  if (running.length === 0) return 'No instance is serving now.';
  if (renewed.length === 0) return old.length === 1 ? `The old instance is ${still}.` : `The ${old.length} old instances are ${still}.`;
  return `${slotsOf(renewed)} the new code, ${slotsOf(old)} the old.`.replace(', no instance runs the old', '');
}

/** @param {{slot: number}[]} slots */
function slotsOf(slots) {
  if (slots.length === 0) return 'no instance runs';
  return slots.length === 1 ? `Instance ${slots[0].slot} runs` : `Instances ${slots.map(({ slot }) => slot).join(', ')} run`;
}
