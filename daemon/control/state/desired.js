/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { NotUp, PlanItem } from '../../../lib/shared/wire/protocol.js' */

/**
 * The content of state.json. Never changed in place: every change makes a new Desired.
 * @typedef {object} Desired
 * @property {1} v
 * @property {DesiredApp[]} apps
 * @property {number} nextId
 * @property {Receipt[]} tokens  Receipts of the last mutations, newest last.
 */

/**
 * @typedef {object} DesiredApp
 * @property {AppSpec} spec  The spec of the newest generation.
 * @property {PastSpec[]} [previous]  Older specs, the oldest first. Missing: no older specs.
 * @property {number} generation  The highest generation that any slot has had.
 * @property {Rollout} rollout
 * @property {string} by  The last command that changed the app.
 * @property {DesiredSlot[]} slots
 * @property {number} createdAtMs
 * @property {string} [origin]  The file from which the app was last applied.
 * @property {number} [scaledFrom]  Instances before the app was scaled by hand.
 * @property {string} [scope]  Key of the listening sockets. Missing: the name of the app.
 */

/**
 * @typedef {{ generation: number, spec: AppSpec }} PastSpec  Valid for this generation and for
 *   older generations down to the previous entry.
 */

/**
 * @typedef {object} Rollout
 * @property {number} maxSurge
 * @property {number} maxUnavailable
 * @property {'restart' | 'orphan' | 'reload' | 'unhealthy'} cause  unhealthy: nclust replaces an instance
 *   that cannot serve; `by` of the app has the reason.
 * @property {boolean} [isGuarded]  In progress: the first failure of an instance ends the rollout.
 * @property {boolean} [isClearedFirst]  Old instances exit before new instances start.
 * @property {boolean} [isStrict]  New instances must use the old addresses. False: any address.
 * @property {number} [windowMs]  How long old instances stay parked. 0: they are retired at once.
 * @property {number | null} [windowEndsAtMs]  Wall clock. Null: no window is open.
 * @property {Failure | null} [failure]
 */

/**
 * @typedef {object} Failure
 * @property {'halted' | 'rolled-back'} kind  halted: replaced slots stay replaced.
 * @property {number} generation  The generation that failed.
 * @property {string} reason
 * @property {NotUp[]} slots
 * @property {number} atMs
 */

/**
 * @typedef {object} DesiredSlot
 * @property {number} slot
 * @property {number} id
 * @property {'up' | 'down'} want
 * @property {number} generation
 * @property {true} [isDone]  The program has finished. No command has stopped the slot.
 * @property {Former} [former]  The slot returns to this if a guarded rollout fails.
 */

/**
 * Control saves the receipt together with the change. If a client repeats the request, control
 * finds the receipt and only waits.
 * @typedef {object} Receipt
 * @property {string} token
 * @property {string} method
 * @property {{ id: number, generation: number }[]} up
 * @property {number[]} gone
 * @property {{ id: number, name: string, slot: number }[]} about
 * @property {string} [root]  The new installation, in an update.
 * @property {PlanItem[]} [plan]
 */

/** @typedef {{ want: 'up' | 'down' | 'new', generation: number }} Former  new: a new slot. */

/**
 * `up`: slots that have to come up, each with the lowest generation that counts. `gone`: slots that
 * have to stop.
 * @typedef {{ desired: Desired, up: { id: number, generation: number }[], gone: number[] }} Change
 */

/** @returns {Desired} */
export function emptyDesired() {
  return { v: 1, apps: [], nextId: 0, tokens: [] };
}

/**
 * @param {Desired} desired
 * @param {string} name
 */
export function findApp(desired, name) {
  return desired.apps.find((app) => app.spec.name === name) ?? null;
}

/**
 * @param {Change} first
 * @param {Change} second  A change of `first.desired`.
 * @returns {Change}
 */
export function merge(first, second) {
  const renewed = new Set(second.up.map(({ id }) => id));
  return {
    desired: second.desired,
    up: [...first.up.filter(({ id }) => !renewed.has(id)), ...second.up],
    gone: [...first.gone, ...second.gone],
  };
}

/**
 * @param {Desired} desired
 * @returns {Change}
 */
export function unchanged(desired) {
  return { desired, up: [], gone: [] };
}

/**
 * @template T
 * @param {Desired} desired
 * @param {T[]} items
 * @param {(desired: Desired, item: T) => Change} change  Gets the result of the change before.
 */
export function changeInTurn(desired, items, change) {
  return items.reduce((sum, item) => merge(sum, change(sum.desired, item)), unchanged(desired));
}

/**
 * @param {Desired} desired
 * @param {number[]} ids
 * @param {(app: DesiredApp) => DesiredApp} change
 * @returns {Desired}
 */
export function changeApps(desired, ids, change) {
  return { ...desired, apps: desired.apps.map((app) => (ids.some((id) => hasSlot(app, id)) ? change(app) : app)) };
}

/**
 * @param {Desired} desired
 * @param {DesiredApp} app
 * @returns {Desired}
 */
export function replaceApp(desired, app) {
  const isThere = findApp(desired, app.spec.name) !== null;
  const apps = isThere
    ? desired.apps.map((other) => (other.spec.name === app.spec.name ? app : other))
    : [...desired.apps, app];
  return { ...desired, apps };
}

/**
 * Changes the specs of all generations, because a failed rollout may go back to an earlier one.
 * @param {DesiredApp} app
 * @param {(spec: DesiredApp['spec']) => DesiredApp['spec']} change
 * @returns {DesiredApp}
 */
export function changeAllSpecs(app, change) {
  const { previous } = app;
  return {
    ...app,
    spec: change(app.spec),
    ...(previous ? { previous: previous.map((past) => ({ ...past, spec: change(past.spec) })) } : {}),
  };
}

/**
 * @param {DesiredApp} app
 * @param {number} generation
 */
export function getSpec(app, generation) {
  return app.previous?.find((past) => past.generation >= generation)?.spec ?? app.spec;
}

/**
 * Also drops specs of old generations, unless a slot is in such a generation or may return to it.
 * @param {DesiredApp} app
 * @param {DesiredSlot[]} slots
 * @returns {DesiredApp}
 */
export function setSlots(app, slots) {
  const used = slots.flatMap((slot) => [slot.generation, ...(slot.former ? [slot.former.generation] : [])]);
  const newest = used.length > 0 ? Math.max(...used) : Infinity;
  const previous = selectNeeded(app.previous ?? [], used).filter((past) => past.generation < newest);
  return { ...app, slots, spec: { ...getSpec(app, newest), instances: slots.length }, previous };
}

/**
 * @param {PastSpec[]} previous
 * @param {number[]} used
 */
function selectNeeded(previous, used) {
  return previous.filter((past, at) =>
    used.some(
      (generation) => generation <= past.generation && generation > (previous[at - 1]?.generation ?? -Infinity),
    ),
  );
}

/**
 * @param {DesiredSlot} slot
 * @returns {DesiredSlot}
 */
export function dropFormer({ former: _, ...slot }) {
  return slot;
}

/**
 * @param {DesiredApp} app
 * @param {number} id
 */
export function hasSlot(app, id) {
  return app.slots.some((slot) => slot.id === id);
}
