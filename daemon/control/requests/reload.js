import { reload } from '../rollout/changes.js';
import { changeSpecs, renew } from '../state/changes.js';
import { merge } from '../state/desired.js';
import { renameApp } from '../state/rename.js';
import { assertCapacity, mayServe, readSpawnInputs, rolloutFacts, listSpecs, addAffectedSlots } from './change.js';

/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { Change, Desired, Receipt, Rollout } from '../state/desired.js' */
/** @import { ChangeContext } from './change.js' */

/**
 * @param {ChangeContext} context
 * @param {object} o
 * @param {string} o.token
 * @param {string} o.by  The cause in the death records of the old instances.
 * @param {(desired: Desired) => number[]} o.choose
 * @param {(spec: AppSpec) => AppSpec} o.change
 * @param {string} [o.name]  The new name of the app. If set, `choose` must return all slots of
 *   one app.
 * @param {Rollout['cause']} [o.cause]  Default: reload.
 * @param {boolean} [o.canRollBack]  Default: true. False: without a rollback window.
 * @returns {Promise<Receipt>}  Rejects with ERR_NCLUST_PREFLIGHT, or with errors of choose, change,
 *   readSpawnInputs(), renameApp() and mutate().
 */
export async function beginReload(context, { token, by, choose, change, name, cause, canRollBack }) {
  const { control, parts } = context;
  const changedSpecs = (/** @type {Desired} */ desired) => listSpecs(desired, choose(desired)).map(change);
  const fresh = await readSpawnInputs(context, token, changedSpecs);
  if (!control.hasSeen(token)) await parts.preflight(changedSpecs(control.registry.desired).map(fresh.fill), 'reload');
  return control.mutate('reload', token, (desired) => {
    const ids = choose(desired);
    const rename = renameApp(desired, ids, name);
    const replaced = replaceSlots(control, desired, ids, {
      change: (spec) => fresh.fill(change(spec)),
      ...{ by, cause, canRollBack },
    });
    // fresh.keep() runs before the rename, because it looks for the app under its old name.
    const renamed = rename(fresh.keep(replaced));
    assertCapacity(context, 'Reload', renamed);
    return addAffectedSlots(renamed);
  });
}

/**
 * Starts a guarded rollout for apps that may be serving. Starts the other apps at once.
 * @param {ChangeContext['control']} control
 * @param {Desired} desired
 * @param {number[]} ids
 * @param {{ change: (spec: AppSpec) => AppSpec, by: string, cause?: Rollout['cause'], canRollBack?: boolean }} o
 * @returns {Change}
 */
function replaceSlots(control, desired, ids, { change, by, cause, canRollBack }) {
  const guardedApps = desired.apps.filter((app) => mayServe(control, app));
  const guardedIds = new Set(guardedApps.flatMap((app) => app.slots.map((slot) => slot.id)));
  const idle = ids.filter((id) => !guardedIds.has(id));
  const serving = ids.filter((id) => guardedIds.has(id));
  const started = renew(changeSpecs(desired, idle, change), idle, by, 'reload');
  const guarded = reload(started.desired, serving, by, {
    ...{ change, cause, canRollBack },
    ...rolloutFacts(control.registry),
  });
  return merge(started, guarded);
}
