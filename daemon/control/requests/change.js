import { assertFits } from '../spawn/capacity.js';
import { NOTHING_FRESH } from '../spawn/environment.js';
import { isUp } from '../rollout/supervise.js';
import { findApp } from '../state/desired.js';
import { isBeside, isServing } from '../state/registry.js';
import { select } from '../state/selectors.js';

/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { Control, Parts } from '../context.js' */
/** @import { RolloutFacts } from '../rollout/changes.js' */
/** @import { SpawnInputs } from '../spawn/environment.js' */
/** @import { Change, Desired, DesiredApp, Receipt } from '../state/desired.js' */
/** @import { Registry } from '../state/registry.js' */

// These steps are common to all requests for a change. Methods and triggers import this folder, so
// this folder must not import them.

/**
 * @typedef {object} ChangeContext
 * @property {Control} control
 * @property {Parts} parts
 */

/**
 * @param {Desired} desired
 * @param {string[]} targets
 * @returns {number[]}  Throws like select().
 */
export function selectIds(desired, targets) {
  return select(desired, targets).map(({ slot }) => slot.id);
}

/**
 * @param {Desired} desired
 * @param {string[]} names
 * @returns {number[]}
 */
export function findSlotIds(desired, names) {
  return names.flatMap((name) => findApp(desired, name)?.slots.map(({ id }) => id) ?? []);
}

/**
 * @param {Pick<Desired, 'apps'>} desired
 * @param {number[]} ids
 * @returns {AppSpec[]}
 */
export function listSpecs({ apps }, ids) {
  return apps.filter((app) => app.slots.some((slot) => ids.includes(slot.id))).map((app) => app.spec);
}

/**
 * Whether instances of the app may be serving. If so, their replacement has to be guarded.
 * @param {Pick<Control, 'registry' | 'keeper'>} control
 * @param {DesiredApp} app
 */
export function mayServe({ registry, keeper }, app) {
  // Until control has connected to a keeper, it cannot know which instances are serving.
  return keeper === null || isServing(registry, app);
}

/**
 * Returns an empty list until control has connected to a keeper, because control cannot know
 * before that which apps serve.
 * @param {Registry} registry
 * @param {AppSpec[]} specs
 * @returns {AppSpec[]}  Those whose app serves.
 */
export function filterServing(registry, specs) {
  return specs.filter(({ name }) => {
    const app = findApp(registry.desired, name);
    return app !== null && isServing(registry, app);
  });
}

/** @param {Pick<Parts, 'cpus' | 'clock'>} parts */
export function startFacts({ cpus, clock }) {
  return { cpus: cpus(), nowMs: clock.nowMs() };
}

/**
 * @param {Registry} registry
 * @returns {RolloutFacts}
 */
export function rolloutFacts(registry) {
  return { isUp: (slot) => isUp(registry, slot), isBeside: (app) => isBeside(registry, app) };
}

/**
 * Reads nothing for a repeated request, because the first request has read everything.
 * @param {ChangeContext} context
 * @param {string} token
 * @param {(desired: Desired) => AppSpec[]} choose
 * @returns {Promise<SpawnInputs>}  Rejects like Environment.read(); then nothing was changed.
 */
export async function readSpawnInputs({ control, parts }, token, choose) {
  if (control.hasSeen(token)) return NOTHING_FRESH;
  return parts.environment.read(choose(control.registry.desired));
}

/**
 * @param {ChangeContext} context
 * @param {string} what  The first word of the error message, for example "Start".
 * @param {Change} change  Throws ERR_NCLUST_PREFLIGHT if the system has no room for the processes.
 */
export function assertCapacity({ control: { registry, keeper }, parts }, what, change) {
  assertFits(change, { what, registry, limits: parts.systemLimits(keeper?.pid ?? 0) });
}

/**
 * @param {Change} change
 * @returns {Change & Pick<Receipt, 'about'>}
 */
export function addAffectedSlots(change) {
  const { desired, up, gone } = change;
  return { ...change, about: affectedSlots(desired, [...up.map(({ id }) => id), ...gone]) };
}

/**
 * @param {Desired} desired
 * @param {number[]} ids
 * @returns {Receipt['about']}
 */
export function affectedSlots({ apps }, ids) {
  return apps.flatMap((app) =>
    app.slots.filter((slot) => ids.includes(slot.id)).map(({ id, slot }) => ({ id, slot, name: app.spec.name })),
  );
}
