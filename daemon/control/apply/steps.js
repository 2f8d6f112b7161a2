import { mergeLiveFields } from '../../../lib/app-spec/check.js';
import { reload } from '../rollout/changes.js';
import { clearManualScale, remove, renew, resize, startSpecs, stop } from '../state/changes.js';
import { findApp, merge, replaceApp } from '../state/desired.js';

/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { RolloutFacts } from '../rollout/changes.js' */
/** @import { DesiredApp, Change, Desired } from '../state/desired.js' */
/** @import { ApplyStep } from './plan.js' */

const BY = 'apply';

/**
 * @param {Desired} desired
 * @param {ApplyStep[]} steps
 * @param {RolloutFacts & { file: string | null, cpus: number, nowMs: number }} o
 */
export function applySteps(desired, steps, o) {
  return steps.reduce(
    (sum, step) => merge(sum, applyStep(sum.desired, step, o)),
    /** @type {Change} */ ({ desired, up: [], gone: [] }),
  );
}

/**
 * @param {Desired} desired
 * @param {ApplyStep} step
 * @param {RolloutFacts & { file: string | null, cpus: number, nowMs: number }} o
 * @returns {Change}
 */
function applyStep(desired, { how, ids, spec, item }, o) {
  if (spec === null) return remove(desired, ids);
  if (how === 'add') return added(desired, spec, o);
  const touched = changeApp(desired, spec.name, (app) =>
    touch(app, spec, { ...originOf(o.file), isChanged: item.action !== 'none' }),
  );
  const smaller = resized(touched, spec, Math.min);
  const renewed = merge(smaller, renewedBy(how, smaller.desired, ids, spec, o));
  const done = merge(renewed, resized(renewed.desired, spec, Math.max));
  return item.kept ? done : { ...done, desired: changeApp(done.desired, spec.name, clearManualScale) };
}

/**
 * @param {Desired} desired
 * @param {AppSpec} spec
 * @param {{ file: string | null, cpus: number, nowMs: number }} o
 * @returns {Change}
 */
function added(desired, spec, { file, cpus, nowMs }) {
  const started = startSpecs(desired, [spec], { isForced: false, isIdle: () => true, cpus, nowMs });
  const named = changeApp(started.desired, spec.name, (app) => ({ ...app, by: BY, ...originOf(file) }));
  if (spec.autostart) return { ...started, desired: named };
  return {
    desired: stop(
      named,
      started.up.map(({ id }) => id),
      BY,
    ).desired,
    up: [],
    gone: [],
  };
}

/**
 * @param {ApplyStep['how']} how
 * @param {Desired} desired
 * @param {number[]} ids
 * @param {AppSpec} spec
 * @param {RolloutFacts} ground
 * @returns {Change}
 */
function renewedBy(how, desired, ids, spec, { isUp, isBeside }) {
  if (how === 'reload')
    return reload(desired, ids, BY, { change: (before) => ({ ...spec, instances: before.instances }), isUp, isBeside });
  const isAllNew = (/** @type {DesiredApp} */ { slots }) =>
    slots.every(({ id, want }) => want === 'down' || ids.includes(id));
  const changed = changeApp(desired, spec.name, (app) =>
    isAllNew(app) ? { ...app, spec: { ...spec, instances: app.slots.length } } : app,
  );
  if (ids.length === 0) return { desired: changed, up: [], gone: [] };
  const renewed = renew(changed, ids, BY);
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
 * Changes the live fields of all generations, because a failed rollout may go back to an earlier
 * generation.
 * @param {DesiredApp} app
 * @param {AppSpec} spec
 * @param {{ origin?: string, isChanged: boolean }} o
 */
function touch(app, spec, { isChanged, ...origin }) {
  const isOwned = origin.origin === undefined || origin.origin === app.origin;
  if (!isChanged) return isOwned ? app : { ...app, ...origin };
  const { previous } = app;
  return {
    ...app,
    ...origin,
    by: BY,
    spec: mergeLiveFields(app.spec, spec),
    ...(previous ? { previous: previous.map((past) => ({ ...past, spec: mergeLiveFields(past.spec, spec) })) } : {}),
  };
}

/**
 * @param {Desired} desired
 * @param {AppSpec} spec
 * @param {(one: number, other: number) => number} which  Chooses the present or the wanted number
 *   of instances.
 * @returns {Change}
 */
function resized(desired, spec, which) {
  const app = /** @type {DesiredApp} */ (findApp(desired, spec.name));
  const count = which(app.slots.length, Number(spec.instances));
  return count === app.slots.length ? { desired, up: [], gone: [] } : resize(desired, { ...app, by: BY }, count);
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
function originOf(file) {
  return file === null ? {} : { origin: file };
}
