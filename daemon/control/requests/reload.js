import { checkSpecChange } from '../../../lib/shared/spec/spec.js';
import { about, changerOf, finish, idsOf, readFresh, roomOf, specsOf, WAITABLE } from '../api/apps.js';
import { BadParams, optional, readParams, record, texts, variables } from '../api/params.js';
import { reload } from '../rollout/changes.js';
import { isUp } from '../rollout/supervise.js';
import { withRoom } from '../spawn/capacity.js';
import { changeSpecs, renew } from '../state/changes.js';
import { merge } from '../state/desired.js';
import { isBeside, isServing } from '../state/registry.js';
import { renaming } from '../state/rename.js';

/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */
/** @import { Desk, MethodBody } from '../api/methods.js' */
/** @import { AppWish, Change, Desired } from '../state/desired.js' */
/** @import { Receipt } from './outcome.js' */

/**
 * Replacing what serves without an interruption.
 * @satisfies {Record<string, MethodBody>}
 */
export const reloading = {
  /** @type {MethodBody} */
  async reload(desk, params, client) {
    const { targets, wait, progress, token, env, spec, specs } = readParams(
      { ...WAITABLE, targets: texts, env: optional(variables), spec: optional(record), specs: optional(record) },
      params,
    );
    const { name, instances, ...fields } = spec ? checkSpecChange(spec) : {};
    if (instances !== undefined) throw new BadParams('spec.instances', 'left out here; "scale" changes it');
    const change = changerOf(desk, { env, fields, specs });
    const receipt = await beginReload(desk, {
      token,
      by: 'reload',
      choose: (desired) => idsOf(desired, targets),
      change,
      name,
    });
    return { slots: await finish(desk, receipt, wait, client, progress) };
  },
};

/**
 * Begins to replace slots, whoever asked for it.
 * @param {Desk} desk
 * @param {object} o
 * @param {string} o.token
 * @param {string} o.by  What the deaths of the old ones are put down to.
 * @param {(desired: Desired) => number[]} o.choose  The slots.
 * @param {(spec: AppSpec) => AppSpec} o.change
 * @param {string} [o.name]  What the one app is called from then on.
 * @returns {Promise<Receipt>}  Rejects with ERR_NCLUST_PREFLIGHT, and what `choose` and `change`
 *   throw; then nothing was touched.
 */
export async function beginReload(desk, { token, by, choose, change, name }) {
  const { control, parts } = desk;
  const changed = (/** @type {Desired} */ desired) => specsOf(desired, choose(desired)).map(change);
  const fresh = await readFresh(desk, token, changed);
  const renewed = (/** @type {AppSpec} */ spec) => fresh.fill(change(spec));
  // A request that is sent again has been looked at.
  if (!control.hasSeen(token)) await parts.preflight(changed(control.world.desired).map(fresh.fill));
  return control.mutate('reload', token, (desired) => {
    const ids = choose(desired);
    const rename = renaming(desired, ids, name);
    return withRoom(
      about(rename(fresh.keep(reloaded(control, desired, ids, { change: renewed, by })))),
      roomOf('Reload', desk),
    );
  });
}

/**
 * Apps of which something serves, or is about to, are replaced under guard. Where nothing does
 * there is nothing to guard, and nothing to wait for.
 * @param {Desk['control']} control
 * @param {Desired} desired
 * @param {number[]} ids
 * @param {{ change: (spec: AppSpec) => AppSpec, by: string }} o
 * @returns {Change}
 */
function reloaded({ world, keeper }, desired, ids, { change, by }) {
  // Of a control that has not met a keeper yet nobody knows what serves.
  const isGuarded = (/** @type {AppWish} */ app) => keeper === null || isServing(world, app);
  const serving = new Set(desired.apps.filter(isGuarded).flatMap((app) => app.slots.map((slot) => slot.id)));
  const idle = ids.filter((id) => !serving.has(id));
  const started = renew(changeSpecs(desired, idle, change), idle, by, 'reload');
  const guarded = reload(
    started.desired,
    ids.filter((id) => serving.has(id)),
    by,
    {
      change,
      isUp: (id, generation) => isUp(world, id, generation),
      isBeside: (app) => isBeside(world, app),
    },
  );
  return merge(started, guarded);
}
