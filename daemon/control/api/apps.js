import { resolveInstances, resolveScale } from '../../../lib/shared/host/cpus.js';
import { filtered } from '../../../lib/shared/spec/environment.js';
import { checkSpec, checkSpecChange, laterFields } from '../../../lib/shared/spec/spec.js';
import { findApp, merge } from '../state/desired.js';
import { NOTHING_FRESH } from '../spawn/environment.js';
import { checkCompression } from '../logs/archive/compression.js';
import { changeSpecs, remove, renew, resize, scaledByHand, startSpecs, stop } from '../state/changes.js';
import { keepOffOwnFiles } from '../spawn/reserved-paths.js';
import { renaming } from '../state/rename.js';
import { withRoom } from '../spawn/capacity.js';
import { isServing } from '../state/registry.js';
import { checkCron } from '../triggers/cron.js';
import { asSwitched, stopWatching, toggleWatch } from '../triggers/watch.js';
import { lookAtCheckouts } from '../spawn/git-checkout.js';
import { select } from '../state/selectors.js';
import { deletedStatus } from '../status/slot-status.js';
import { BadParams, flag, list, optional, readParams, record, text, texts, variables, withDefault } from './params.js';
import { createTeller } from '../requests/progress.js';
import { statuses } from './status.js';

/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */
/** @import { SlotStatus } from '../../../lib/shared/wire/protocol.js' */
/** @import { Receipt } from '../requests/outcome.js' */
/** @import { Fresh } from '../spawn/environment.js' */
/** @import { AppWish, Change, Desired } from '../state/desired.js' */
/** @import { Client } from './connection.js' */
/** @import { Desk, MethodBody } from './methods.js' */

/** What every change may be told. */
export const WAITABLE = { wait: withDefault(flag, true), progress: withDefault(flag, false), token: text };

/**
 * Methods that change what is wanted.
 * @satisfies {Record<string, MethodBody>}
 */
export const changes = {
  /** @type {MethodBody} */
  async start(desk, params, client) {
    const given = readParams(
      { ...WAITABLE, specs: optional(list), targets: optional(texts), force: withDefault(flag, false) },
      params,
    );
    if (!given.specs === !given.targets) throw new BadParams('specs', 'given, or "targets", but not both');
    const fresh = await readFresh(
      desk,
      given.token,
      (desired) =>
        given.specs?.map((spec, at) => checkSpec(spec, `specs[${at}]`)) ??
        specsOf(desired, idsOf(desired, given.targets ?? [])),
    );
    const receipt = desk.control.mutate('start', given.token, (desired) =>
      fresh.keep(
        withRoom(
          about(
            given.specs
              ? startGiven(desk, desired, given.specs, { isForced: given.force, fresh })
              : startAgain(desired, idsOf(desired, given.targets ?? []), fresh),
          ),
          roomOf('Start', desk),
        ),
      ),
    );
    const slots = await finish(desk, receipt, given.wait, client, given.progress);
    const names = [...new Set(slots.map((slot) => slot.name))];
    return { slots, outcomes: names.map((name) => ({ name, outcome: 'started' })) };
  },

  /** @type {MethodBody} */
  async stop(desk, params, client) {
    const { targets, wait, progress, token, watch } = readParams(
      { ...WAITABLE, targets: texts, watch: withDefault(flag, false) },
      params,
    );
    const receipt = desk.control.mutate('stop', token, (desired) =>
      about(
        stop(
          watch ? changeSpecs(desired, idsOf(desired, targets), stopWatching) : desired,
          idsOf(desired, targets),
          'stop',
        ),
      ),
    );
    return { slots: await finish(desk, receipt, wait, client, progress) };
  },

  /** @type {MethodBody} */
  async restart(desk, params, client) {
    const { targets, wait, progress, token, env, spec, specs, watch } = readParams(
      {
        ...WAITABLE,
        targets: texts,
        env: optional(variables),
        spec: optional(record),
        specs: optional(record),
        watch: withDefault(flag, false),
      },
      params,
    );
    const { instances, name, ...fields } = spec ? checkSpecChange(spec) : {};
    const given = changerOf(desk, { env, fields, specs });
    const change = (/** @type {AppSpec} */ one) => (watch ? toggleWatch(given(one)) : given(one));
    const fresh = await readFresh(desk, token, (desired) => specsOf(desired, idsOf(desired, targets)).map(change));
    // A request that is sent again has been looked at.
    if (!desk.control.hasSeen(token)) desk.parts.checkPresent(servingSpecs(desk, targets).map(change));
    const receipt = desk.control.mutate('restart', token, (desired) => {
      const ids = idsOf(desired, targets);
      const rename = renaming(desired, ids, name);
      return about(
        rename(fresh.keep(restarted(desk, desired, ids, { change: (one) => fresh.fill(change(one)), instances }))),
      );
    });
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
    const { target, instances, wait, progress, token } = readParams(
      { ...WAITABLE, target: text, instances: text },
      params,
    );
    /** @type {string[]} */
    let names = [];
    const receipt = desk.control.mutate('scale', token, (desired) => {
      names = [...new Set(select(desired, [target]).map(({ app }) => app.spec.name))];
      const change = names.reduce(
        (sum, name) => merge(sum, scaled(desk, sum.desired, name, instances)),
        /** @type {Change} */ ({ desired, up: [], gone: [] }),
      );
      return {
        ...withRoom(change, roomOf('Scaling', desk)),
        about: placesOf(
          change.desired,
          names.flatMap((name) => findApp(change.desired, name)?.slots.map((slot) => slot.id) ?? []),
        ),
      };
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
  return statuses(
    desk,
    receipt.about.map(({ id }) => id),
  );
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
 * @param {{ isForced: boolean, fresh: Fresh }} o
 * @returns {Change}
 */
function startGiven({ control, parts, paths }, desired, given, { isForced, fresh }) {
  const specs = given.map((spec, at) => fresh.fill(possible(checkSpec(spec, `specs[${at}]`), paths)));
  const failed = new Set(
    [...control.world.seats.values()].filter((seat) => seat.life.state === 'failed').map((seat) => seat.id),
  );
  const isIdle = (/** @type {string} */ name) =>
    (findApp(desired, name)?.slots ?? []).every((slot) => slot.want === 'down' || failed.has(slot.id));
  const resting = specs.filter(({ name, autostart }) => !autostart && !findApp(desired, name)).map(({ name }) => name);
  return addedAsStopped(
    startSpecs(desired, specs, { isForced, isIdle, cpus: parts.cpus(), nowMs: parts.clock.nowMs() }),
    resting,
  );
}

/**
 * `autostart: false`, of apps that were not in the list.
 * @param {Change} change
 * @param {string[]} names
 * @returns {Change}
 */
function addedAsStopped(change, names) {
  const ids = names.flatMap((name) => findApp(change.desired, name)?.slots.map(({ id }) => id) ?? []);
  return {
    ...stop(change.desired, ids, 'start'),
    up: change.up.filter(({ id }) => !ids.includes(id)),
    gone: [...change.gone, ...ids],
  };
}

/**
 * @param {Desired} desired
 * @param {number[]} ids
 * @param {Fresh} fresh
 * @returns {Change}
 */
function startAgain(desired, ids, fresh) {
  return renew(changeSpecs(desired, ids, fresh.fill), ids, 'start');
}

/**
 * @param {Desk} desk
 * @param {Desired} desired
 * @param {number[]} ids
 * @param {{ change: (spec: AppSpec) => AppSpec, instances: AppSpec['instances'] | undefined }} o
 * @returns {Change}
 */
function restarted({ parts }, desired, ids, { change, instances }) {
  if (instances === undefined) return renew(changeSpecs(desired, ids, change), ids, 'restart');
  const apps = desired.apps.filter((app) => app.slots.some((slot) => ids.includes(slot.id)));
  const resized = apps.reduce(
    (sum, app) => merge(sum, resize(sum.desired, app, resolveInstances(instances, parts.cpus()))),
    /** @type {Change} */ ({ desired, up: [], gone: [] }),
  );
  const renewed = [...ids.filter((id) => !resized.gone.includes(id)), ...resized.up.map(({ id }) => id)];
  return merge(resized, renew(changeSpecs(resized.desired, renewed, change), renewed, 'restart'));
}

/**
 * @param {Desk} desk
 * @param {object} o
 * @param {Record<string, string>} [o.env]  The shell they belong to from now on.
 * @param {Partial<AppSpec>} o.fields  Of all of them; their names change in another way, see
 *   rename.js.
 * @param {Record<string, unknown>} [o.specs]  Of single apps, by name: an interpreter means
 *   something else for each script.
 * @returns {(spec: AppSpec) => AppSpec}  Throws ERR_NCLUST_BAD_SPEC.
 */
export function changerOf({ paths }, { env, fields, specs = {} }) {
  const own = new Map(Object.entries(specs).map(([name, given]) => [name, checkOwn(given, `specs.${name}`)]));
  return (spec) => {
    const given = { ...fields, ...own.get(spec.name), name: spec.name };
    return {
      ...laterFields(spec),
      ...possible(
        checkSpec({ ...spec, ...(env ? inShell({ ...spec, ...given }, env) : {}), ...asSwitched(given) }),
        paths,
      ),
    };
  };
}

/**
 * @param {unknown} given
 * @param {string} keyPath
 */
function checkOwn(given, keyPath) {
  const fields = checkSpecChange(given, keyPath);
  if (fields.instances !== undefined) throw new BadParams(`${keyPath}.instances`, 'left out here; "scale" changes it');
  if (fields.name !== undefined)
    throw new BadParams(`${keyPath}.name`, 'left out here; "spec" has the new name of one app');
  return fields;
}

/**
 * What the files and secrets hold, and git knows, of apps that a new generation is about to begin
 * of. A request that is sent again has been looked at.
 * @param {Desk} desk
 * @param {string} token
 * @param {(desired: Desired) => AppSpec[]} choose
 * @returns {Promise<Fresh>}  Rejects as Environment.read does; then nothing was touched.
 */
export async function readFresh({ control, parts }, token, choose) {
  if (control.hasSeen(token)) return NOTHING_FRESH;
  const specs = choose(control.world.desired);
  const [fresh, inCheckout] = await Promise.all([parts.environment.read(specs), lookAtCheckouts(specs)]);
  return { ...fresh, fill: (spec) => inCheckout(fresh.fill(spec)) };
}

/**
 * @param {Desired} desired
 * @param {number[]} ids
 * @returns {AppSpec[]}  Of the apps that have one of these slots.
 */
export function specsOf({ apps }, ids) {
  return apps.filter((app) => app.slots.some((slot) => ids.includes(slot.id))).map((app) => app.spec);
}

/**
 * A removed variable is gone. What the app declares and the shell has as well is what the shell
 * says, if the app is given it: somebody typed it in front of the command.
 * @param {AppSpec} spec
 * @param {Record<string, string>} shellEnv
 * @returns {Pick<AppSpec, 'env' | 'shellEnv'>}
 */
function inShell({ env, filterEnv }, shellEnv) {
  const seen = filtered(shellEnv, filterEnv);
  return {
    shellEnv,
    env: Object.fromEntries(
      Object.entries(env).map(([key, value]) => [key, Object.hasOwn(seen, key) ? seen[key] : value]),
    ),
  };
}

/**
 * @param {AppSpec} spec  Throws ERR_NCLUST_BAD_SETTING where this manager cannot do what it asks
 *   for, ERR_NCLUST_BAD_SPEC where it would harm it.
 * @param {Desk['paths']} paths
 */
export function possible(spec, paths) {
  if (spec.logCompress !== null) checkCompression(spec.logCompress);
  if (spec.cronRestart !== null) checkCron(spec.cronRestart);
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
  const app = /** @type {AppWish} */ (findApp(desired, name));
  const count = resolveScale(instances, app.slots.length, parts.cpus());
  return resize(desired, { ...scaledByHand(app, count), by: 'scale' }, count);
}

/**
 * For withRoom().
 * @param {string} what
 * @param {Desk} desk
 */
export function roomOf(what, { control: { world, keeper }, parts }) {
  return { what, world, limits: parts.systemLimits(keeper?.pid ?? 0) };
}

/**
 * What a restart would end. Of a control that has not met a keeper yet nobody knows.
 * @param {Desk} desk
 * @param {string[]} targets
 */
function servingSpecs({ control: { world } }, targets) {
  const ids = new Set(idsOf(world.desired, targets));
  return world.desired.apps
    .filter((app) => isServing(world, app) && app.slots.some(({ id }) => ids.has(id)))
    .map(({ spec }) => spec);
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
 * @returns {Change & { about: Receipt['about'] }}
 */
export function about(change) {
  return { ...change, about: placesOf(change.desired, [...change.up.map(({ id }) => id), ...change.gone]) };
}

/**
 * @param {Desired} desired
 * @param {number[]} ids
 * @returns {Receipt['about']}
 */
export function placesOf(desired, ids) {
  return desired.apps.flatMap((app) =>
    app.slots.filter((slot) => ids.includes(slot.id)).map(({ id, slot }) => ({ id, slot, name: app.spec.name })),
  );
}
