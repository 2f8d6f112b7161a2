import { isDeepStrictEqual } from 'node:util';
import { changeApps, dropFormer, getSpec, setSlots } from '../state/desired.js';

/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { DesiredApp, Change, Desired, Failure, Rollout } from '../state/desired.js' */
/** @import { DesiredSlot } from '../state/desired.js' */

// During a guarded rollout `former` holds the old generation; on a failure the slot returns to it.

/**
 * @typedef {object} RolloutFacts
 * @property {(slot: DesiredSlot) => boolean} isUp
 * @property {(app: DesiredApp) => boolean} isBeside  Old and new instances can run together.
 */

/**
 * Begins a guarded rollout in these slots. Supersedes a reload in progress, and abandons instances
 * of that reload that are not up.
 * @param {Desired} desired
 * @param {number[]} ids
 * @param {string} by
 * @param {RolloutFacts & { change: (spec: AppSpec) => AppSpec, cause?: Rollout['cause'], canRollBack?: boolean }} o
 *   `canRollBack`: false: there is no rollback window, because the old instances must not live on.
 * @returns {Change}
 */
export function reload(desired, ids, by, { change, isUp, isBeside, cause = 'reload', canRollBack = true }) {
  /** @type {Change['up']} */
  const up = [];
  const next = changeApps(desired, ids, (app) => {
    const generation = app.generation + 1;
    const spec = change(app.spec);
    const slots = app.slots.map((slot) => {
      if (!ids.includes(slot.id)) return slot;
      up.push({ id: slot.id, generation });
      return { ...slot, want: /** @type {const} */ ('up'), generation, former: buildFormer(slot, isUp) };
    });
    const isStrict = slots.every((slot) => !slot.former || isSameProgram(getSpec(app, slot.former.generation), spec));
    const previous = [...(app.previous ?? []), { generation: app.generation, spec: app.spec }];
    const numbers = chooseNumbers(canRollBack ? spec : { ...spec, rollbackWindowMs: 0 }, isBeside(app));
    return setSlots({ ...app, spec, previous, generation, by, rollout: { ...numbers, cause, isStrict } }, slots);
  });
  return { desired: next, up, gone: [] };
}

/**
 * New instances that are up stay. The other slots return to the old generation.
 * @param {DesiredApp} app
 * @param {Failure} failure
 * @param {RolloutFacts['isUp']} isUp
 * @returns {DesiredApp}
 */
export function haltRollout(app, failure, isUp) {
  const slots = app.slots.map((slot) => (isUp(slot) ? dropFormer(slot) : restoreFormer(slot)));
  return setSlots({ ...app, rollout: { ...app.rollout, isGuarded: false, failure } }, slots);
}

/**
 * Parked instances serve again at once. In the other slots the new instance serves until an
 * instance of the old generation is up.
 * @param {DesiredApp} app
 * @param {Failure} failure
 * @returns {DesiredApp}
 */
export function rollBack(app, failure) {
  const rollout = {
    ...app.rollout,
    maxSurge: app.slots.length,
    maxUnavailable: 0,
    isGuarded: false,
    windowEndsAtMs: null,
    failure,
  };
  return setSlots({ ...app, rollout }, app.slots.map(restoreFormer));
}

/**
 * @param {DesiredApp} app
 * @returns {DesiredApp}
 */
export function finishRollout(app) {
  return setSlots(
    { ...app, rollout: { ...app.rollout, isGuarded: false, windowEndsAtMs: null } },
    app.slots.map(dropFormer),
  );
}

/**
 * @param {DesiredSlot} slot
 * @param {RolloutFacts['isUp']} isUp
 */
function buildFormer(slot, isUp) {
  return slot.former && !isUp(slot) ? slot.former : { want: slot.want, generation: slot.generation };
}

/**
 * @param {DesiredSlot} slot
 * @returns {DesiredSlot}
 */
function restoreFormer(slot) {
  if (!slot.former) return slot;
  return { ...dropFormer(slot), want: slot.former.want === 'down' ? 'down' : 'up', generation: slot.former.generation };
}

/**
 * @param {AppSpec} spec
 * @param {boolean} isBeside
 * @returns {Omit<Rollout, 'cause'>}
 */
function chooseNumbers({ maxSurge, maxUnavailable, rollbackWindowMs }, isBeside) {
  const numbers = isBeside
    ? { maxSurge, maxUnavailable }
    : { maxSurge: 0, maxUnavailable: Math.max(1, maxUnavailable) };
  return {
    ...numbers,
    isGuarded: true,
    windowMs: rollbackWindowMs,
    windowEndsAtMs: null,
    failure: null,
  };
}

/** Fields that can change where a program listens. */
const ADDRESS_FIELDS = /** @type {const} */ ([
  'script',
  'args',
  'env',
  'shellEnv',
  'fileEnv',
  'filterEnv',
  'incrementVar',
  'instanceVar',
  'secrets',
  'interpreterArgs',
  'execArgs',
]);

/**
 * Whether all ADDRESS_FIELDS are the same. If so, the program will listen on the same addresses.
 * @param {AppSpec} before
 * @param {AppSpec} after
 */
function isSameProgram(before, after) {
  return ADDRESS_FIELDS.every((key) => isDeepStrictEqual(before[key], after[key]));
}
