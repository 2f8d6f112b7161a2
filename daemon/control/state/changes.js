import { isDeepStrictEqual } from 'node:util';
import { NclustError } from '../../../lib/shared/errors.js';
import { resolveInstances } from '../../../lib/shared/host/cpus.js';
import { changeApps, changeInTurn, findApp, hasSlot, merge, replaceApp, dropFormer, setSlots } from './desired.js';

/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { DesiredApp, Change, Desired, Rollout, DesiredSlot } from './desired.js' */

/**
 * Starts apps. An idle app in the list takes the new spec. A running app gets more slots if
 * `isForced` is set; if not, throws ERR_NCLUST_APP_EXISTS. Also throws ERR_NCLUST_BAD_INSTANCES.
 * @param {Desired} desired
 * @param {AppSpec[]} specs
 * @param {object} o
 * @param {boolean} [o.isForced]
 * @param {(name: string) => boolean} [o.isIdle]  Default: all apps are idle.
 * @param {number} o.cpus
 * @param {number} o.nowMs
 */
export function startSpecs(desired, specs, { isForced = false, isIdle = () => true, cpus, nowMs }) {
  const begun = new Set();
  return changeInTurn(desired, specs, (sum, given) => {
    const spec = { ...given, instances: resolveInstances(given.instances, cpus) };
    const app = findApp(sum, spec.name);
    const isRunning = app !== null && (begun.has(spec.name) || !isIdle(spec.name));
    if (isRunning && !isForced) throw appExists(app);
    begun.add(spec.name);
    return isRunning
      ? resize(sum, { ...app, spec, by: 'start' }, app.slots.length + spec.instances)
      : restartAll(
          resize(sum, app ? { ...clearManualScale(app), spec } : newApp(sum, spec, nowMs), spec.instances),
          spec,
        );
  });
}

/**
 * @param {Desired} desired
 * @param {AppSpec & { instances: number }} spec
 * @param {number} nowMs
 * @returns {DesiredApp}
 */
function newApp(desired, spec, nowMs) {
  return {
    spec,
    generation: 0,
    rollout: restartRollout(1),
    by: 'start',
    slots: [],
    createdAtMs: nowMs,
    ...ownScope(desired, spec.name),
  };
}

/**
 * A renamed app may still use this name as its scope. Then the new app gets another scope.
 * @param {Desired} desired
 * @param {string} name
 * @returns {Pick<DesiredApp, 'scope'>}
 */
function ownScope({ apps, nextId }, name) {
  return apps.some(({ scope }) => scope === name) ? { scope: `${name}\t#${nextId}` } : {};
}

/**
 * Starts a new generation in these slots.
 * @param {Desired} desired
 * @param {number[]} ids
 * @param {string} by
 * @param {Rollout['cause']} [cause]
 * @returns {Change}
 */
export function renew(desired, ids, by, cause = 'restart') {
  /** @type {Change['up']} */
  const up = [];
  const next = changeApps(desired, ids, (app) => {
    const generation = app.generation + 1;
    const slots = app.slots.map((slot) => {
      if (!ids.includes(slot.id)) return slot;
      up.push({ id: slot.id, generation });
      return { ...dropFormer(slot), want: /** @type {const} */ ('up'), generation };
    });
    return setSlots({ ...app, generation, by, rollout: buildRollout(app, slots, cause) }, slots);
  });
  return { desired: next, up, gone: [] };
}

/**
 * The caller restarts these slots in the same change. Other slots keep their spec.
 * @param {Desired} desired
 * @param {number[]} ids
 * @param {(spec: AppSpec) => AppSpec} change
 * @returns {Desired}
 */
export function changeSpecs(desired, ids, change) {
  return changeApps(desired, ids, (app) => {
    const spec = change(app.spec);
    if (isDeepStrictEqual(spec, app.spec)) return app;
    const isAll = app.slots.every((slot) => ids.includes(slot.id));
    return {
      ...app,
      spec,
      ...(isAll ? {} : { previous: [...(app.previous ?? []), { generation: app.generation, spec: app.spec }] }),
    };
  });
}

/**
 * @param {Desired} desired
 * @param {number[]} ids
 * @param {string} by
 * @returns {Change}
 */
export function stop(desired, ids, by) {
  const next = changeApps(desired, ids, (app) => ({
    ...app,
    by,
    slots: app.slots.map((slot) => (ids.includes(slot.id) ? stopped(slot) : slot)),
  }));
  return { desired: next, up: [], gone: ids };
}

/**
 * @param {Change} change
 * @param {number[]} ids  Slots of the change that stay stopped.
 * @param {string} by
 * @returns {Change}
 */
export function keepStopped(change, ids, by) {
  return {
    ...stop(change.desired, ids, by),
    up: change.up.filter(({ id }) => !ids.includes(id)),
    gone: [...change.gone, ...ids],
  };
}

/**
 * The restart policy does not start a finished slot again. The cron of the app may start it.
 * @param {Desired} desired
 * @param {number} id
 * @returns {Desired}
 */
export function finishSlot(desired, id) {
  return changeApps(desired, [id], (app) => ({
    ...app,
    slots: app.slots.map((slot) => (slot.id === id ? { ...stopped(slot), isDone: true } : slot)),
  }));
}

/**
 * A stopped slot stays stopped, even if a rollout in progress fails.
 * @param {DesiredSlot} slot
 * @returns {DesiredSlot}
 */
function stopped({ isDone: _, ...slot }) {
  return { ...slot, want: 'down', ...(slot.former ? { former: { ...slot.former, want: 'down' } } : {}) };
}

/**
 * @param {Desired} desired
 * @param {number[]} ids
 * @returns {Change}
 */
export function remove(desired, ids) {
  const apps = desired.apps.map((app) =>
    setSlots(
      { ...app, by: ids.some((id) => hasSlot(app, id)) ? 'delete' : app.by },
      app.slots.filter((slot) => !ids.includes(slot.id)),
    ),
  );
  return { desired: { ...desired, apps: apps.filter((app) => app.slots.length > 0) }, up: [], gone: ids };
}

/**
 * New slots take the lowest free indexes. If the app shrinks, the slots with the highest indexes
 * leave. A stopped app stays stopped.
 * @param {Desired} desired
 * @param {DesiredApp} app  A new app, or a changed copy of an app in the list.
 * @param {number} count
 * @returns {Change}
 */
export function resize(desired, app, count) {
  const ordered = [...app.slots].sort((a, b) => a.slot - b.slot);
  const kept = ordered.slice(0, count);
  const want = ordered.length === 0 || ordered.some((slot) => slot.want === 'up') ? 'up' : 'down';
  const used = new Set(kept.map((slot) => slot.slot));
  const place = placeOfNew(app, want);
  /** @type {DesiredSlot[]} */
  const added = [];
  for (let index = 0; kept.length + added.length < count; index++) {
    if (!used.has(index)) added.push({ slot: index, id: desired.nextId + added.length, want, ...place });
  }
  const next = setSlots({ ...app, generation: Math.max(1, app.generation) }, [...kept, ...added]);
  return {
    desired: { ...replaceApp(desired, next), nextId: desired.nextId + added.length },
    // If a rollout in progress fails, new slots go back to the former generation, so an instance of
    // the former generation also fulfils the request.
    up:
      want === 'up'
        ? added.map(({ id, generation, former }) => ({ id, generation: former?.generation ?? generation }))
        : [],
    gone: ordered.slice(count).map((slot) => slot.id),
  };
}

/**
 * During a guarded rollout a new slot takes part in the rollout. Otherwise the slot starts in the
 * newest generation.
 * @param {DesiredApp} app
 * @param {DesiredSlot['want']} want
 * @returns {Pick<DesiredSlot, 'generation' | 'former'>}
 */
function placeOfNew({ slots, generation, rollout }, want) {
  const formers = slots.flatMap((slot) => slot.former?.generation ?? []);
  if (rollout.isGuarded && formers.length > 0)
    return { generation, former: { want: want === 'up' ? 'new' : 'down', generation: Math.max(...formers) } };
  return { generation: slots.length > 0 ? Math.max(...slots.map((slot) => slot.generation)) : Math.max(1, generation) };
}

/**
 * @param {Change} change
 * @param {AppSpec} spec
 */
function restartAll(change, { name }) {
  const ids = findApp(change.desired, name)?.slots.map(({ id }) => id) ?? [];
  // A new app is already in its first generation. An app in the list needs a new generation.
  if (ids.every((id) => change.up.some((one) => one.id === id))) return change;
  return merge(change, renew(change.desired, ids, 'start'));
}

/**
 * A Node.js orphan stays until its replacement is up, because the two processes can share sockets.
 * Other orphans exit before their replacements start.
 * @param {DesiredApp} app
 * @param {DesiredSlot[]} slots
 * @param {Rollout['cause']} cause
 */
function buildRollout(app, slots, cause) {
  // A guarded reload of other slots is in progress and continues, so keep its rollout.
  if (app.rollout.isGuarded && slots.some((slot) => slot.former)) return app.rollout;
  if (cause === 'orphan' && app.spec.kind === 'node') return { maxSurge: 1, maxUnavailable: 0, cause };
  return { ...restartRollout(slots.filter((slot) => slot.want === 'up').length), cause };
}

/**
 * @param {number} count  Number of slots that should be up.
 * @returns {Rollout}
 */
function restartRollout(count) {
  return { maxSurge: 0, maxUnavailable: Math.max(1, Math.ceil(count / 2)), cause: 'restart' };
}

/** @param {DesiredApp} app */
function appExists(app) {
  const { name } = app.spec;
  return new NclustError('ERR_NCLUST_APP_EXISTS', `"${name}" is in the list already and runs.`, {
    hint: `Use "nclust restart ${name}", another --name, or --force to start it once more.`,
    data: { name },
  });
}

/**
 * Remembers the number of instances before the manual change. A config file that still declares
 * this number does not request a change.
 * @param {DesiredApp} app
 * @param {number} count
 * @returns {DesiredApp}
 */
export function markManualScale(app, count) {
  const before = app.scaledFrom ?? app.slots.length;
  return before === count ? clearManualScale(app) : { ...app, scaledFrom: before };
}

/**
 * @param {DesiredApp} app
 * @returns {DesiredApp}
 */
export function clearManualScale(app) {
  if (app.scaledFrom === undefined) return app;
  const { scaledFrom: _, ...rest } = app;
  return rest;
}

/**
 * @param {DesiredApp} app
 * @param {number} declared
 * @returns {boolean}
 */
export function keepsScale({ scaledFrom, slots }, declared) {
  return scaledFrom === declared && slots.length !== declared;
}
