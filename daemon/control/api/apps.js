import { resolveInstances, resolveScale } from '../../../lib/shared/host/cpus.js';
import { checkSpec, checkSpecChange } from '../../../lib/app-spec/check.js';
import {
  affectedSlots,
  assertCapacity,
  readSpawnInputs,
  selectIds,
  findSlotIds,
  listSpecs,
  addAffectedSlots,
  filterServing,
  startFacts,
} from '../requests/change.js';
import { waitFor } from '../requests/progress.js';
import { beginReload } from '../requests/reload.js';
import { beginRollback } from '../requests/rollback.js';
import {
  changeSpecs,
  keepStopped,
  remove,
  renew,
  resize,
  markManualScale,
  startSpecs,
  stop,
} from '../state/changes.js';
import { changeInTurn, findApp, merge } from '../state/desired.js';
import { renameApp } from '../state/rename.js';
import { select } from '../state/selectors.js';
import { deletedStatus } from '../status/slot-status.js';
import { stopWatching, toggleWatch } from '../triggers/watches.js';
import {
  BadParams,
  CHANGE_PARAMS,
  list,
  optional,
  readParams,
  record,
  text,
  texts,
  toggle,
  variables,
} from './params.js';
import { acceptSpec, createSpecChanger } from './specs.js';
import { awaitStatuses, statuses } from './status.js';

/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { SlotStatus } from '../../../lib/shared/wire/protocol.js' */
/** @import { ApiContext } from '../context.js' */
/** @import { SpawnInputs } from '../spawn/environment.js' */
/** @import { DesiredApp, Change, Desired } from '../state/desired.js' */
/** @import { MethodBody } from './methods.js' */

const CHANGED_SPECS = {
  ...CHANGE_PARAMS,
  targets: texts,
  env: optional(variables),
  spec: optional(record),
  specs: optional(record),
};

/** @satisfies {Record<string, MethodBody>} */
export const changes = {
  /** @type {MethodBody} */
  async start(context, params, client) {
    const { specs, targets, force, token, ...o } = readParams(
      { ...CHANGE_PARAMS, specs: optional(list), targets: optional(texts), force: toggle },
      params,
    );
    if (!specs === !targets) throw new BadParams('specs', 'given, or "targets", but not both');
    const chooseIds = (/** @type {Desired} */ desired) => selectIds(desired, targets ?? []);
    const choose = (/** @type {Desired} */ desired) =>
      specs?.map((spec, at) => checkSpec(spec, `specs[${at}]`)) ?? listSpecs(desired, chooseIds(desired));
    const fresh = await readAndCheck(context, token, choose);
    const receipt = context.control.mutate('start', token, (desired) => {
      const change = specs
        ? startGiven(context, desired, specs, { isForced: force, fresh })
        : renew(changeSpecs(desired, chooseIds(desired), fresh.fill), chooseIds(desired), 'start');
      assertCapacity(context, 'Start', change);
      return fresh.keep(addAffectedSlots(change));
    });
    const slots = await awaitStatuses(context, receipt, client, o);
    const names = [...new Set(slots.map((slot) => slot.name))];
    return { slots, outcomes: names.map((name) => ({ name, outcome: 'started' })) };
  },

  /** @type {MethodBody} */
  async stop(context, params, client) {
    const { targets, token, watch, ...o } = readParams({ ...CHANGE_PARAMS, targets: texts, watch: toggle }, params);
    const receipt = context.control.mutate('stop', token, (desired) => {
      const ids = selectIds(desired, targets);
      const switched = watch ? changeSpecs(desired, ids, stopWatching) : desired;
      return addAffectedSlots(stop(switched, ids, 'stop'));
    });
    return { slots: await awaitStatuses(context, receipt, client, o) };
  },

  /** @type {MethodBody} */
  async restart(context, params, client) {
    const { targets, token, env, spec, specs, watch, ...o } = readParams({ ...CHANGED_SPECS, watch: toggle }, params);
    const { instances, name, ...fields } = spec ? checkSpecChange(spec) : {};
    const changeSpec = createSpecChanger(context.paths, { env, fields, specs });
    const change = (/** @type {AppSpec} */ one) => (watch ? toggleWatch(changeSpec(one)) : changeSpec(one));
    const choose = (/** @type {Desired} */ desired) => listSpecs(desired, selectIds(desired, targets)).map(change);
    const fresh = await readAndCheck(context, token, choose);
    const receipt = context.control.mutate('restart', token, (desired) => {
      const ids = selectIds(desired, targets);
      const rename = renameApp(desired, ids, name);
      const restarted = restartSlots(context, desired, ids, { change: (one) => fresh.fill(change(one)), instances });
      // keep() runs before rename(), because secrets are stored under the old name.
      return addAffectedSlots(rename(fresh.keep(restarted)));
    });
    return { slots: await awaitStatuses(context, receipt, client, o) };
  },

  /** @type {MethodBody} */
  async reload(context, params, client) {
    const { targets, token, env, spec, specs, ...o } = readParams(CHANGED_SPECS, params);
    const { name, instances, ...fields } = spec ? checkSpecChange(spec) : {};
    if (instances !== undefined) throw new BadParams('spec.instances', 'left out here; "scale" changes it');
    const receipt = await beginReload(context, {
      token,
      by: 'reload',
      choose: (desired) => selectIds(desired, targets),
      change: createSpecChanger(context.paths, { env, fields, specs }),
      name,
    });
    return { slots: await awaitStatuses(context, receipt, client, o) };
  },

  /** @type {MethodBody} */
  async rollback(context, params, client) {
    const { targets, token, ...o } = readParams({ ...CHANGE_PARAMS, targets: texts }, params);
    return { slots: await awaitStatuses(context, beginRollback(context, { token, targets }), client, o) };
  },

  /** @type {MethodBody} */
  async delete(context, params, client) {
    const { targets, wait, progress, token } = readParams({ ...CHANGE_PARAMS, targets: texts }, params);
    /** @type {SlotStatus[]} */
    let before = [];
    const receipt = context.control.mutate('delete', token, (desired) => {
      const ids = selectIds(desired, targets);
      before = statuses(context, ids);
      return { ...remove(desired, ids), about: affectedSlots(desired, ids) };
    });
    if (wait) await waitFor(context, receipt, client, progress);
    // If a client repeats the request, the slots are already deleted, and only the receipt lists
    // them.
    return { slots: before.length > 0 ? before : receipt.about.map(deletedStatus) };
  },

  /** @type {MethodBody} */
  async scale(context, params, client) {
    const { target, instances, token, ...o } = readParams({ ...CHANGE_PARAMS, target: text, instances: text }, params);
    const receipt = context.control.mutate('scale', token, (desired) => {
      const names = [...new Set(select(desired, [target]).map(({ app }) => app.spec.name))];
      const change = changeInTurn(desired, names, (sum, name) => scaleApp(context, sum, name, instances));
      assertCapacity(context, 'Scaling', change);
      return { ...change, about: affectedSlots(change.desired, findSlotIds(change.desired, names)) };
    });
    return { slots: await awaitStatuses(context, receipt, client, o) };
  },
};

/**
 * @param {ApiContext} context
 * @param {Desired} desired
 * @param {unknown[]} given
 * @param {{ isForced: boolean, fresh: SpawnInputs }} o
 * @returns {Change}
 */
function startGiven({ control, parts, paths }, desired, given, { isForced, fresh }) {
  const specs = given.map((spec, at) => fresh.fill(acceptSpec(spec, paths, `specs[${at}]`)));
  const failed = new Set(
    [...control.registry.seats.values()].filter((seat) => seat.life.state === 'failed').map((seat) => seat.id),
  );
  const isIdle = (/** @type {string} */ name) =>
    (findApp(desired, name)?.slots ?? []).every((slot) => slot.want === 'down' || failed.has(slot.id));
  const unstarted = specs
    .filter(({ name, autostart }) => !autostart && !findApp(desired, name))
    .map(({ name }) => name);
  const started = startSpecs(desired, specs, { isForced, isIdle, ...startFacts(parts) });
  return keepStopped(started, findSlotIds(started.desired, unstarted), 'start');
}

/**
 * @param {ApiContext} context
 * @param {Desired} desired
 * @param {number[]} ids
 * @param {{ change: (spec: AppSpec) => AppSpec, instances: AppSpec['instances'] | undefined }} o
 * @returns {Change}
 */
function restartSlots({ parts }, desired, ids, { change, instances }) {
  if (instances === undefined) return renew(changeSpecs(desired, ids, change), ids, 'restart');
  const apps = desired.apps.filter((app) => app.slots.some((slot) => ids.includes(slot.id)));
  const count = resolveInstances(instances, parts.cpus());
  const resized = changeInTurn(desired, apps, (sum, app) => resize(sum, app, count));
  const left = [...ids.filter((id) => !resized.gone.includes(id)), ...resized.up.map(({ id }) => id)];
  const renewed = renew(changeSpecs(resized.desired, left, change), left, 'restart');
  return merge(resized, renewed);
}

/**
 * @param {ApiContext} context
 * @param {Desired} desired
 * @param {string} name
 * @param {string} instances
 * @returns {Change}
 */
function scaleApp({ parts }, desired, name, instances) {
  const app = /** @type {DesiredApp} */ (findApp(desired, name));
  const count = resolveScale(instances, app.slots.length, parts.cpus());
  return resize(desired, { ...markManualScale(app, count), by: 'scale' }, count);
}

/**
 * @param {ApiContext} context
 * @param {string} token  A repeated request is not checked again.
 * @param {(desired: Desired) => AppSpec[]} choose
 * @returns {Promise<SpawnInputs>}  Rejects like Environment.read(), and with ERR_NCLUST_PREFLIGHT if
 *   an app that serves could not start again.
 */
async function readAndCheck(context, token, choose) {
  const { control, parts } = context;
  const fresh = await readSpawnInputs(context, token, choose);
  const specs = () => filterServing(control.registry, choose(control.registry.desired).map(fresh.fill));
  if (!control.hasSeen(token)) await parts.preflight(specs(), 'restart');
  return fresh;
}
