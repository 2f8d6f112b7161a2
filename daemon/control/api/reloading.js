import { checkSpecChange } from '../../../lib/shared/spec.js';
import { merge } from '../desired.js';
import { isUp } from '../guard.js';
import { COMING } from '../replacing.js';
import { reload } from '../rollout.js';
import { withRoom } from '../room.js';
import { select } from '../selectors.js';
import { changeSpecs, renew } from '../wishes.js';
import { seatsOf } from '../world.js';
import { about, changer, finish, idsOf, roomOf, WAITABLE } from './changes.js';
import { BadParams, optional, readParams, record, texts, variables } from './params.js';

/** @import { AppSpec } from '../../../lib/shared/spec.js' */
/** @import { AppWish, Change, Desired } from '../desired.js' */
/** @import { World } from '../world.js' */
/** @import { Desk, MethodBody } from './methods.js' */

/** Replacing what serves without an interruption. @satisfies {Record<string, MethodBody>} */
export const reloading = {
  /** @type {MethodBody} */
  async reload(desk, params, client) {
    const { targets, wait, progress, token, env, spec, specs } = readParams({ ...WAITABLE, targets: texts, env: optional(variables), spec: optional(record), specs: optional(record) }, params);
    const common = fieldsOf(spec ?? {}, 'spec');
    // An interpreter means something else for each script.
    const own = new Map(Object.entries(specs ?? {}).map(([name, given]) => [name, fieldsOf(given, `specs.${name}`)]));
    const change = (/** @type {AppSpec} */ one) => changer({ env: env ?? null, fields: { ...common, ...own.get(one.name) }, paths: desk.paths })(one);
    // A request that is sent again has been looked at.
    if (!desk.control.hasSeen(token)) await desk.parts.preflight(specsOf(desk.control.world.desired, targets).map(change));
    const receipt = desk.control.mutate('reload', token, (desired) => withRoom(about(reloaded(desk.control, desired, idsOf(desired, targets), change)), roomOf('Reload', desk)));
    return { slots: await finish(desk, receipt, wait, client, progress) };
  },
};

/**
 * @param {unknown} given
 * @param {string} keyPath
 * @returns {Partial<AppSpec>}
 */
function fieldsOf(given, keyPath) {
  const fields = checkSpecChange(given, keyPath);
  if (fields.instances !== undefined) throw new BadParams(`${keyPath}.instances`, 'left out here; "scale" changes it');
  return fields;
}

/**
 * @param {Desired} desired
 * @param {string[]} targets
 */
function specsOf(desired, targets) {
  return [...new Set(select(desired, targets).map(({ app }) => app.spec))];
}

/**
 * Apps of which something serves, or is about to, are replaced under guard. Where nothing does there is nothing to guard, and nothing to wait for.
 * @param {Desk['control']} control
 * @param {Desired} desired
 * @param {number[]} ids
 * @param {(spec: AppSpec) => AppSpec} change
 * @returns {Change}
 */
function reloaded({ world, keeper }, desired, ids, change) {
  // Of a control that has not met a keeper yet nobody knows what serves.
  const isServing = (/** @type {AppWish} */ app) => keeper === null || seatsOf(world, app.spec.name).some(({ life }) => life.state === 'up' || (COMING.has(life.state) && !life.hasFailed));
  const serving = new Set(desired.apps.filter(isServing).flatMap((app) => app.slots.map((slot) => slot.id)));
  const idle = ids.filter((id) => !serving.has(id));
  const started = renew(changeSpecs(desired, idle, change), idle, 'reload', 'reload');
  const guarded = reload(started.desired, ids.filter((id) => serving.has(id)), 'reload', {
    change,
    isUp: (id, generation) => isUp(world, id, generation),
    isBeside: (app) => isBeside(world, app),
  });
  return merge(started, guarded);
}

/**
 * Whether two instances of a slot can run at the same time: they share their sockets. A program in fork mode that does not listen may be one that must not run twice.
 * @param {World} world
 * @param {AppWish} app
 */
function isBeside(world, { spec }) {
  if (spec.kind !== 'node') return false;
  return spec.mode === 'cluster' || [...world.instances.values()].some((instance) => instance.label.name === spec.name && !instance.exit && instance.addresses.length > 0);
}
