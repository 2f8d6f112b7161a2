import { existsSync } from 'node:fs';
import { NclustError } from '../../../lib/shared/errors.js';
import { KeeperLost, KeeperRefusal } from '../keeper-link/link.js';
import { listSeatsOfSlot } from '../state/registry.js';
import {
  busyError,
  describeRefusal,
  updateError,
  noKeeperError,
  refuseWhatWasTakenBack,
  refuseWhenOvertaken,
} from '../update/refusals.js';
import { CHANGE_PARAMS, readParams, text } from './params.js';
import { awaitStatuses, readings } from './status.js';

/** @import { ApiContext } from '../context.js' */
/** @import { Change, Desired, Receipt } from '../state/desired.js' */
/** @import { Registry } from '../state/registry.js' */
/** @import { Installation } from '../update/refusals.js' */
/** @import { MethodBody } from './methods.js' */

const UPDATE = { ...CHANGE_PARAMS, root: text, node: text, nodeVersion: text };

/** @typedef {'none' | 'control' | 'keeper'} Stale  `keeper`: the keeper and control. */

/** @type {WeakMap<ApiContext['control'], { wanted: Installation, done: Promise<void> }>} */
const underWay = new WeakMap();

/** @satisfies {Record<string, MethodBody>} */
export const updateMethods = {
  /**
   * An outdated control never answers: it exits, and the client repeats the request to the next
   * control. The next control has nothing to replace, so it waits until every app that was up is up
   * again, and then answers.
   *
   *     control only:  use-installation -> control ends -> the keeper starts the new control
   *     keeper too:    abdicate -> the keeper ends -> control starts one from the new root, gives
   *                    it the sockets, introduces the orphans -> control ends
   * @type {MethodBody}
   */
  async update(context, params, client) {
    const wanted = readParams(UPDATE, params);
    // Waits for a keeper, because without a keeper control does not know which instances are up.
    if (!context.control.keeper) await nextKeeper(context);
    refuseWhatWasTakenBack(context, wanted);
    refuseBesideAnother(context, wanted);
    const receipt = context.control.mutate('update', wanted.token, (desired) => ({
      ...runningSlots(context.control.registry, desired),
      root: wanted.root,
    }));
    await inTurn(context, wanted);
    // The answer has both the slots and the manager, because the keeper may take the update back,
    // and then a second request would reach an older control.
    return { slots: await awaitStatuses(context, receipt, client, wanted), manager: readings.hello(context) };
  },
};

/**
 * Runs one update at a time. A second update to the same installation waits for the first update.
 * @param {ApiContext} context
 * @param {Installation} wanted
 */
async function inTurn(context, wanted) {
  const { control } = context;
  for (let first = underWay.get(control); first; first = underWay.get(control)) await first.done;
  const done = replace(context, wanted).finally(() => underWay.delete(control));
  underWay.set(control, { wanted, done });
  await done;
}

/**
 * @param {ApiContext} context
 * @param {Installation} wanted
 * @returns {Promise<void>}  Resolves if nothing has to be replaced. Rejects if the update fails.
 *   Otherwise control exits and the promise never settles.
 */
async function replace(context, wanted) {
  const { control, parts } = context;
  for (;;) {
    const report = await parts.probe(wanted);
    const stale = staleSlots(context, wanted, report);
    if (stale === 'none') return;
    refuseWhenOvertaken(context, wanted);
    parts.managerLog('update-begun', { version: report.control.version, root: wanted.root, replaces: stale });
    try {
      if (stale === 'keeper') await replaceKeeper(context, wanted, report.keeper.digest);
      // If the keeper was replaced just now, this request only sets the installation to return to
      // if the new control fails.
      await control.askKeeper('use-installation', {
        root: wanted.root,
        ...(stale === 'keeper' ? { before: parts.own.root } : {}),
      });
      parts.makeWay();
      return await new Promise(() => {});
    } catch (error) {
      if (!(error instanceof KeeperLost)) throw error;
    }
    // The keeper died before it finished the request. Try again with the next keeper.
    await nextKeeper(context);
  }
}

/**
 * @param {ApiContext} context
 * @param {Installation} wanted
 * @param {{ keeper: { digest: string }, control: { digest: string } }} report
 * @returns {Stale}
 */
function staleSlots({ control, parts }, { root, node, nodeVersion }, report) {
  const isOtherNode = nodeVersion !== process.version || (node !== parts.own.node && !existsSync(parts.own.node));
  if (isOtherNode || report.keeper.digest !== control.keeper?.digest) return 'keeper';
  return report.control.digest !== parts.own.digest || root !== parts.own.root ? 'control' : 'none';
}

/**
 * @param {ApiContext} context
 * @param {Installation} wanted
 * @param {string} digest  Digest of the code of the next keeper.
 */
async function replaceKeeper(context, { root, node }, digest) {
  const { control } = context;
  try {
    await control.session.exchange({ root, node });
  } catch (error) {
    if (error instanceof KeeperLost) throw error;
    if (!(error instanceof KeeperRefusal)) throw noKeeperError(context, /** @type {Error} */ (error));
    throw new NclustError(
      'ERR_NCLUST_UPDATE_FAILED',
      `Nothing was replaced: the running manager does not exit (${error.message}).`,
      { hint: 'Replace the manager with: nclust kill && nclust resurrect', cause: error },
    );
  }
  if (control.keeper?.digest !== digest) throw updateError(context, describeRefusal(root));
}

/**
 * @param {ApiContext} context
 * @param {Installation} wanted
 */
function refuseBesideAnother({ control }, { root, node }) {
  const first = underWay.get(control)?.wanted;
  if (first && (first.root !== root || first.node !== node))
    throw busyError(`Another update, to "${first.root}", is under way.`);
}

/** @param {ApiContext} context */
async function nextKeeper(context) {
  await context.control.session.waitForNext().catch((error) => {
    throw noKeeperError(context, error);
  });
}

/**
 * @param {Registry} registry
 * @param {Desired} desired
 * @returns {Change & { about: Receipt['about'] }}  Changes nothing. It only puts the running slots
 *   into the receipt.
 */
function runningSlots(registry, desired) {
  const found = desired.apps.flatMap((app) => app.slots.map((slot) => ({ name: app.spec.name, ...slot })));
  const up = found.filter(
    (slot) => slot.want === 'up' && listSeatsOfSlot(registry, slot.id).some((seat) => seat.life.state === 'up'),
  );
  return {
    desired,
    up: up.map(({ id, generation }) => ({ id, generation })),
    gone: [],
    about: up.map(({ id, name, slot }) => ({ id, name, slot })),
  };
}
