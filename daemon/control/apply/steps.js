import { mergeLiveFields } from '../../../lib/app-spec/check.js';
import { affectedSlots, assertCapacity, findSlotIds, rolloutFacts, startFacts } from '../requests/change.js';
import { reload } from '../rollout/changes.js';
import { clearManualScale, remove, renew, resize, startSpecs, stop } from '../state/changes.js';
import { changeAllSpecs, changeInTurn, findApp, merge, replaceApp, unchanged } from '../state/desired.js';

/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { ChangeContext } from '../requests/change.js' */
/** @import { RolloutFacts } from '../rollout/changes.js' */
/** @import { DesiredApp, Change, Desired, Receipt } from '../state/desired.js' */
/** @import { ApplyStep } from './plan.js' */

/**
 * @typedef {RolloutFacts & { by: string, file: string | null, cpus: number, nowMs: number }} Facts
 *   by: the command. Each app notes it, because the death records of the old instances name it.
 */

/**
 * @param {ChangeContext} context
 * @param {Desired} desired
 * @param {ApplyStep[]} steps
 * @param {object} o
 * @param {string} o.by
 * @param {string} o.what  The first word of the error message, for example "Start".
 * @param {string | null} o.file
 * @param {(change: Change, names: string[]) => Change['up']} [o.alsoAwaited]  Slots that other
 *   commands are starting.
 * @returns {Change & Pick<Receipt, 'about' | 'plan'>}
 */
export function carryOut({ control, parts }, desired, steps, { by, what, file, alsoAwaited = () => [] }) {
  const names = steps.map(({ item }) => item.name);
  const facts = { by, file, ...startFacts(parts), ...rolloutFacts(control.registry) };
  const applied = changeInTurn(desired, steps, (sum, step) => applyStep(sum, step, facts));
  const change = { ...applied, up: [...applied.up, ...alsoAwaited(applied, names)] };
  assertCapacity({ control, parts }, what, change);
  const changed = affectedSlots(change.desired, findSlotIds(change.desired, names));
  const removed = affectedSlots(desired, change.gone);
  return { ...change, about: [...changed, ...removed], plan: steps.map(({ item }) => item) };
}

/**
 * @param {Desired} desired
 * @param {ApplyStep} step
 * @param {Facts} o
 * @returns {Change}
 */
function applyStep(desired, { how, ids, spec, item }, o) {
  if (spec === null) return remove(desired, ids);
  if (how === 'add') return added(desired, spec, o);
  const isChanged = item.action !== 'none';
  const touched = changeApp(desired, spec.name, (app) => touch(app, spec, o, isChanged));
  const smaller = resized(touched, spec, o.by, Math.min);
  const renewed = merge(smaller, renewSlots(how, smaller.desired, ids, spec, o));
  const done = merge(renewed, resized(renewed.desired, spec, o.by, Math.max));
  return item.kept ? done : { ...done, desired: changeApp(done.desired, spec.name, clearManualScale) };
}

/**
 * @param {Desired} desired
 * @param {AppSpec} spec
 * @param {Facts} o
 * @returns {Change}
 */
function added(desired, spec, { by, file, cpus, nowMs }) {
  const started = startSpecs(desired, [spec], { cpus, nowMs });
  const named = changeApp(started.desired, spec.name, (app) => ({ ...app, by, ...getOrigin(file) }));
  if (spec.autostart) return { ...started, desired: named };
  const ids = started.up.map(({ id }) => id);
  return unchanged(stop(named, ids, by).desired);
}

/**
 * @param {ApplyStep['how']} how
 * @param {Desired} desired
 * @param {number[]} ids
 * @param {AppSpec} spec
 * @param {Facts} o
 * @returns {Change}
 */
function renewSlots(how, desired, ids, spec, { by, isUp, isBeside }) {
  if (how === 'reload')
    return reload(desired, ids, by, { change: (before) => ({ ...spec, instances: before.instances }), isUp, isBeside });
  const isAllNew = (/** @type {DesiredApp} */ { slots }) =>
    slots.every(({ id, want }) => want === 'down' || ids.includes(id));
  const changed = changeApp(desired, spec.name, (app) =>
    isAllNew(app) ? { ...app, spec: { ...spec, instances: app.slots.length } } : app,
  );
  if (ids.length === 0) return unchanged(changed);
  const renewed = renew(changed, ids, by);
  if (how !== 'replace') return renewed;
  const rollout = /** @type {const} */ ({
    maxSurge: 0,
    maxUnavailable: ids.length,
    cause: 'restart',
    isClearedFirst: true,
  });
  return { ...renewed, desired: changeApp(renewed.desired, spec.name, (app) => ({ ...app, rollout })) };
}

/**
 * @param {DesiredApp} app
 * @param {AppSpec} spec
 * @param {Facts} o
 * @param {boolean} isChanged
 */
function touch(app, spec, { by, file }, isChanged) {
  const origin = getOrigin(file);
  if (isChanged) return { ...changeAllSpecs(app, (past) => mergeLiveFields(past, spec)), ...origin, by };
  return file === null || file === app.origin ? app : { ...app, ...origin };
}

/**
 * @param {Desired} desired
 * @param {AppSpec} spec
 * @param {string} by
 * @param {(one: number, other: number) => number} which  Chooses the present or the wanted number
 *   of instances.
 * @returns {Change}
 */
function resized(desired, spec, by, which) {
  const app = /** @type {DesiredApp} */ (findApp(desired, spec.name));
  const count = which(app.slots.length, Number(spec.instances));
  return count === app.slots.length ? unchanged(desired) : resize(desired, { ...app, by }, count);
}

/**
 * @param {Desired} desired
 * @param {string} name
 * @param {(app: DesiredApp) => DesiredApp} change
 */
function changeApp(desired, name, change) {
  const app = /** @type {DesiredApp} */ (findApp(desired, name));
  const changed = change(app);
  return changed === app ? desired : replaceApp(desired, changed);
}

/** @param {string | null} file */
function getOrigin(file) {
  return file === null ? {} : { origin: file };
}
