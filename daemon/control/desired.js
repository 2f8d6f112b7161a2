/** @import { AppSpec } from '../../lib/shared/spec.js' */

/**
 * What should run. This, and nothing else, is in state.json. Values are never changed in place: every change is a new Desired.
 * @typedef {object} Desired
 * @property {1} v
 * @property {AppWish[]} apps
 * @property {number} nextId
 * @property {import('./requests.js').Receipt[]} tokens  Of the last mutations, newest last.
 */

/**
 * @typedef {object} AppWish
 * @property {AppSpec} spec
 * @property {number} generation  The highest one a slot has been given.
 * @property {Rollout} rollout  How seats of older generations are replaced.
 * @property {string} by  The last command that changed it.
 * @property {SlotWish[]} slots
 * @property {number} createdAtMs
 */

/** @typedef {{maxSurge: number, maxUnavailable: number, cause: 'restart'|'orphan'}} Rollout */
/** @typedef {{slot: number, id: number, want: 'up'|'down', generation: number}} SlotWish */

/**
 * What a change did: which slots have to get up, in which generation at least, and which have to be gone.
 * @typedef {{desired: Desired, up: {id: number, generation: number}[], gone: number[]}} Change
 */

/** @returns {Desired} */
export function nothingDesired() {
  return { v: 1, apps: [], nextId: 0, tokens: [] };
}

/**
 * @param {Desired} desired
 * @param {string} name
 * @returns {AppWish|null}
 */
export function findApp(desired, name) {
  return desired.apps.find((app) => app.spec.name === name) ?? null;
}

/**
 * @param {Change} first
 * @param {Change} second  Made from the outcome of the first.
 * @returns {Change}
 */
export function merge(first, second) {
  const renewed = new Set(second.up.map(({ id }) => id));
  return { desired: second.desired, up: [...first.up.filter(({ id }) => !renewed.has(id)), ...second.up], gone: [...first.gone, ...second.gone] };
}

/**
 * @param {Desired} desired
 * @param {number[]} ids
 * @param {(app: AppWish) => AppWish} change
 * @returns {Desired}
 */
export function changeApps(desired, ids, change) {
  return { ...desired, apps: desired.apps.map((app) => (ids.some((id) => hasSlot(app, id)) ? change(app) : app)) };
}

/**
 * @param {Desired} desired
 * @param {AppWish} app
 * @returns {Desired}
 */
export function replaceApp(desired, app) {
  const isThere = findApp(desired, app.spec.name) !== null;
  const apps = isThere ? desired.apps.map((other) => (other.spec.name === app.spec.name ? app : other)) : [...desired.apps, app];
  return { ...desired, apps };
}

/**
 * @param {AppWish} app
 * @param {SlotWish[]} slots
 * @returns {AppWish}
 */
export function withSlots(app, slots) {
  return { ...app, slots, spec: { ...app.spec, instances: slots.length } };
}

/**
 * @param {AppWish} app
 * @param {number} id
 */
export function hasSlot(app, id) {
  return app.slots.some((slot) => slot.id === id);
}
