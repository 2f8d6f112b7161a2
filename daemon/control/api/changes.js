import { resolveInstances, resolveScale } from '../../../lib/shared/cpus.js';
import { NclustError } from '../../../lib/shared/errors.js';
import { checkSpec, checkSpecChange } from '../../../lib/shared/spec.js';
import { findApp, merge } from '../desired.js';
import { checkCompression } from '../logs/compression.js';
import { keepOffOwnFiles } from '../own-files.js';
import { withRoom } from '../room.js';
import { changeSpecs, remove, renew, resize, startSpecs, stop } from '../wishes.js';
import { select } from '../selectors.js';
import { deletedStatus } from '../status.js';
import { BadParams, flag, list, optional, readParams, record, text, texts, variables, withDefault } from './params.js';
import { createTeller } from './progress.js';
import { statuses } from './readings.js';

/** @import { SlotStatus } from '../../../lib/shared/protocol.js' */
/** @import { AppSpec } from '../../../lib/shared/spec.js' */
/** @import { Change, Desired } from '../desired.js' */
/** @import { Receipt } from '../requests.js' */
/** @import { Client } from './connection.js' */
/** @import { Desk, MethodBody } from './methods.js' */

/** What every change may be told. */
export const WAITABLE = { wait: withDefault(flag, true), progress: withDefault(flag, false), token: text };

/** Methods that change what is wanted. @satisfies {Record<string, MethodBody>} */
export const changes = {
  /** @type {MethodBody} */
  async start(desk, params, client) {
    const given = readParams({ ...WAITABLE, specs: optional(list), targets: optional(texts), force: withDefault(flag, false) }, params);
    if (!given.specs === !given.targets) throw new BadParams('specs', 'given, or "targets", but not both');
    const receipt = desk.control.mutate('start', given.token, (desired) => withRoom(about(given.specs ? startGiven(desk, desired, given.specs, given.force) : renew(desired, idsOf(desired, given.targets ?? []), 'start')), roomOf('Start', desk)));
    const slots = await finish(desk, receipt, given.wait, client, given.progress);
    const names = [...new Set(slots.map((slot) => slot.name))];
    return { slots, outcomes: names.map((name) => ({ name, outcome: 'started' })) };
  },

  /** @type {MethodBody} */
  async stop(desk, params, client) {
    const { targets, wait, progress, token } = readParams({ ...WAITABLE, targets: texts }, params);
    const receipt = desk.control.mutate('stop', token, (desired) => about(stop(desired, idsOf(desired, targets), 'stop')));
    return { slots: await finish(desk, receipt, wait, client, progress) };
  },

  /** @type {MethodBody} */
  async restart(desk, params, client) {
    const { targets, wait, progress, token, env, spec } = readParams({ ...WAITABLE, targets: texts, env: optional(variables), spec: optional(record) }, params);
    const change = spec ? checkSpecChange(spec) : {};
    const receipt = desk.control.mutate('restart', token, (desired) => about(restarted(desk, desired, idsOf(desired, targets), { env: env ?? null, change })));
    return { slots: await finish(desk, receipt, wait, client, progress) };
  },

  /** @type {MethodBody} */
  async delete(desk, params, client) {
    const { targets, wait, progress, token } = readParams({ ...WAITABLE, targets: texts }, params);
    /** @type {SlotStatus[]} */
    let asTheyWere = [];
    const receipt = desk.control.mutate('delete', token, (desired) => {
      const ids = idsOf(desired, targets);
      asTheyWere = statuses(desk, ids);
      return { ...remove(desired, ids), about: placesOf(desired, ids) };
    });
    if (wait) await waitFor(desk, receipt, client, progress);
    // A request that is sent again to a later control finds only what the receipt tells.
    return { slots: asTheyWere.length > 0 ? asTheyWere : receipt.about.map(deletedStatus) };
  },

  /** @type {MethodBody} */
  async scale(desk, params, client) {
    const { target, instances, wait, progress, token } = readParams({ ...WAITABLE, target: text, instances: text }, params);
    /** @type {string[]} */
    let names = [];
    const receipt = desk.control.mutate('scale', token, (desired) => {
      names = [...new Set(select(desired, [target]).map(({ app }) => app.spec.name))];
      const change = names.reduce((sum, name) => merge(sum, scaled(desk, sum.desired, name, instances)), /** @type {Change} */ ({ desired, up: [], gone: [] }));
      return { ...withRoom(change, roomOf('Scaling', desk)), about: placesOf(change.desired, names.flatMap((name) => findApp(change.desired, name)?.slots.map((slot) => slot.id) ?? [])) };
    });
    return { slots: await finish(desk, receipt, wait, client, progress) };
  },
};

/**
 * Waits, if that is wanted, and shows the slots a receipt is about.
 * @param {Desk} desk
 * @param {Receipt} receipt
 * @param {boolean} isWaitedFor
 * @param {Client} client
 * @param {boolean} [isTold]  Whether the client is told of the progress meanwhile.
 * @returns {Promise<SlotStatus[]>}
 */
export async function finish(desk, receipt, isWaitedFor, client, isTold = false) {
  if (isWaitedFor) await waitFor(desk, receipt, client, isTold);
  return statuses(desk, receipt.about.map(({ id }) => id));
}

/**
 * @param {Desk} desk
 * @param {Receipt} receipt
 * @param {Client} client
 * @param {boolean} isTold  Of the progress.
 */
async function waitFor(desk, receipt, client, isTold) {
  const teller = isTold ? createTeller(desk, receipt, client) : null;
  try {
    await desk.control.settled(receipt, client.signal, teller?.look);
  } finally {
    teller?.close();
  }
}

/**
 * @param {Desk} desk
 * @param {Desired} desired
 * @param {unknown[]} given
 * @param {boolean} isForced
 * @returns {Change}
 */
function startGiven({ control, parts, paths }, desired, given, isForced) {
  const specs = given.map((spec, at) => possible(checkSpec(spec, `specs[${at}]`), paths));
  const failed = new Set([...control.world.seats.values()].filter((seat) => seat.life.state === 'failed').map((seat) => seat.id));
  const isIdle = (/** @type {string} */ name) => (findApp(desired, name)?.slots ?? []).every((slot) => slot.want === 'down' || failed.has(slot.id));
  return startSpecs(desired, specs, { isForced, isIdle, cpus: parts.cpus(), nowMs: parts.clock.nowMs() });
}

/**
 * @param {Desk} desk
 * @param {Desired} desired
 * @param {number[]} ids
 * @param {{env: Record<string, string>|null, change: Partial<AppSpec>}} o
 * @returns {Change}
 */
function restarted({ parts, paths }, desired, ids, { env, change }) {
  const { instances, ...fields } = change;
  const changed = changeSpecs(desired, ids, changer({ env, fields, paths }));
  if (instances === undefined) return renew(changed, ids, 'restart');
  const apps = changed.apps.filter((app) => app.slots.some((slot) => ids.includes(slot.id)));
  const resized = apps.reduce((sum, app) => merge(sum, resize(sum.desired, app, resolveInstances(instances, parts.cpus()))), /** @type {Change} */ ({ desired: changed, up: [], gone: [] }));
  return merge(resized, renew(resized.desired, [...ids.filter((id) => !resized.gone.includes(id)), ...resized.up.map(({ id }) => id)], 'restart'));
}

/**
 * @param {{env: Record<string, string>|null, fields: Partial<AppSpec>, paths: Desk['paths']}} o  `env` is the shell it belongs to from now on.
 * @returns {(spec: AppSpec) => AppSpec}  Throws ERR_NCLUST_BAD_SPEC.
 */
export function changer({ env, fields, paths }) {
  return (spec) => {
    if (fields.name !== undefined && fields.name !== spec.name) throw new NclustError('ERR_NCLUST_BAD_SPEC', `The name of an app cannot change; "${spec.name}" would become "${fields.name}".`, { hint: 'Start it under the new name and delete the old one.' });
    return possible(checkSpec({ ...spec, ...fields, ...(env ? inShell(spec, env) : {}) }), paths);
  };
}

/**
 * A removed variable is gone. What the app declares and the shell has as well is what the shell says: somebody typed it in front of the command.
 * @param {AppSpec} spec
 * @param {Record<string, string>} shellEnv
 * @returns {Pick<AppSpec, 'env'|'shellEnv'>}
 */
function inShell({ env }, shellEnv) {
  return { shellEnv, env: Object.fromEntries(Object.entries(env).map(([key, value]) => [key, shellEnv[key] ?? value])) };
}

/**
 * @param {AppSpec} spec  Throws ERR_NCLUST_BAD_SETTING where this manager cannot do what it asks for, ERR_NCLUST_BAD_SPEC where it would harm it.
 * @param {Desk['paths']} paths
 */
function possible(spec, paths) {
  if (spec.logCompress !== null) checkCompression(spec.logCompress);
  return keepOffOwnFiles(spec, paths);
}

/**
 * @param {Desk} desk
 * @param {Desired} desired
 * @param {string} name
 * @param {string} instances
 * @returns {Change}
 */
function scaled({ parts }, desired, name, instances) {
  const app = /** @type {import('../desired.js').AppWish} */ (findApp(desired, name));
  return resize(desired, { ...app, by: 'scale' }, resolveScale(instances, app.slots.length, parts.cpus()));
}

/** For withRoom(). @param {string} what  @param {Desk} desk */
export function roomOf(what, { control: { world, keeper }, parts }) {
  return { what, world, limits: parts.systemLimits(keeper?.pid ?? 0) };
}

/**
 * @param {Desired} desired
 * @param {string[]} targets
 */
export function idsOf(desired, targets) {
  return select(desired, targets).map(({ wish }) => wish.id);
}

/**
 * @param {Change} change
 * @returns {Change & {about: Receipt['about']}}
 */
export function about(change) {
  return { ...change, about: placesOf(change.desired, [...change.up.map(({ id }) => id), ...change.gone]) };
}

/**
 * @param {Desired} desired
 * @param {number[]} ids
 * @returns {Receipt['about']}
 */
function placesOf(desired, ids) {
  return desired.apps.flatMap((app) => app.slots.filter((slot) => ids.includes(slot.id)).map(({ id, slot }) => ({ id, slot, name: app.spec.name })));
}
