import { existsSync } from 'node:fs';
import { NclustError } from '../../../lib/shared/errors.js';
import { KeeperLost, KeeperRefusal } from '../keeper-link/link.js';
import { seatsOfSlot } from '../state/registry.js';
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

/** @import { Receipt } from '../requests/outcome.js' */
/** @import { Change, Desired } from '../state/desired.js' */
/** @import { World } from '../state/registry.js' */
/** @import { Desk, MethodBody } from './methods.js' */

const UPDATE = { ...CHANGE_PARAMS, root: text, node: text, nodeVersion: text };

/** @typedef {{ root: string, node: string, nodeVersion: string, token: string }} Wanted */

/**
 * Which parts of the manager are not what they should be.
 * @typedef {'none' | 'control' | 'keeper'} Stale  `keeper`: both.
 */

/**
 * The update that is under way in a control.
 * @type {WeakMap<Desk['control'], { wanted: Wanted, done: Promise<void> }>}
 */
const underWay = new WeakMap();

/**
 * Replacing the manager itself.
 * @satisfies {Record<string, MethodBody>}
 */
export const updating = {
  /**
   * Makes the manager one of the given installation. A control that finds itself outdated never
   * answers: it ends, the client asks the next one, and that one, finding nothing to do, waits
   * until every app that was up is up again.
   *
   *     control only:  move -> control ends -> the keeper starts control from the new root
   *     keeper too:    abdicate -> the keeper ends -> control starts one from the new root, gives
   *                    it the sockets, introduces the orphans -> control ends
   *
   * @type {MethodBody}
   */
  async update(desk, params, client) {
    const wanted = readParams(UPDATE, params);
    // A control that has met no keeper yet knows of nothing that is up.
    if (!desk.control.keeper) await nextKeeper(desk);
    refuseWhatWasTakenBack(desk, wanted);
    refuseBesideAnother(desk, wanted);
    const receipt = desk.control.mutate('update', wanted.token, (desired) => ({
      ...whatIsUp(desk.control.world, desired),
      root: wanted.root,
    }));
    await inTurn(desk, wanted);
    // Said together: the next control may be one that was taken back.
    return { slots: await awaitStatuses(desk, receipt, client, wanted), manager: readings.hello(desk) };
  },
};

/**
 * One update at a time. A second one of the same installation waits for the first: it finds the
 * manager replaced, or fails with it.
 * @param {Desk} desk
 * @param {Wanted} wanted
 */
async function inTurn(desk, wanted) {
  const { control } = desk;
  for (let first = underWay.get(control); first; first = underWay.get(control)) await first.done;
  const done = replace(desk, wanted).finally(() => underWay.delete(control));
  underWay.set(control, { wanted, done });
  await done;
}

/**
 * @param {Desk} desk
 * @param {Wanted} wanted
 * @returns {Promise<void>}  Resolves when there is nothing to replace; never, when there was.
 */
async function replace(desk, wanted) {
  const { control, parts } = desk;
  for (;;) {
    const told = await parts.probe(wanted);
    const stale = whatIsStale(desk, wanted, told);
    if (stale === 'none') return;
    refuseWhenOvertaken(desk, wanted);
    parts.journal('update-begun', { version: told.control.version, root: wanted.root, replaces: stale });
    try {
      if (stale === 'keeper') await replaceKeeper(desk, wanted, told.keeper.digest);
      // With a new keeper this is only about what to go back to.
      await control.askKeeper('move', { root: wanted.root, ...(stale === 'keeper' ? { before: parts.own.root } : {}) });
      parts.makeWay();
      return await new Promise(() => {});
    } catch (error) {
      if (!(error instanceof KeeperLost)) throw error;
    }
    // The keeper died before it could do its part. Control starts one of the version that runs, and
    // begins again with that.
    await nextKeeper(desk);
  }
}

/**
 * @param {Desk} desk
 * @param {Wanted} wanted
 * @param {{ keeper: { digest: string }, control: { digest: string } }} told  By the code that is
 *   installed there.
 * @returns {Stale}
 */
function whatIsStale({ control, parts }, { root, node, nodeVersion }, told) {
  const isOtherNode = nodeVersion !== process.version || (node !== parts.own.node && !existsSync(parts.own.node));
  if (isOtherNode || told.keeper.digest !== control.keeper?.digest) return 'keeper';
  return told.control.digest !== parts.own.digest || root !== parts.own.root ? 'control' : 'none';
}

/**
 * @param {Desk} desk
 * @param {Wanted} wanted
 * @param {string} digest  Of the keeper that is to come.
 */
async function replaceKeeper(desk, { root, node }, digest) {
  const { control } = desk;
  try {
    await control.exchangeKeeper({ root, node });
  } catch (error) {
    if (error instanceof KeeperLost) throw error;
    if (!(error instanceof KeeperRefusal)) throw noKeeperError(desk, /** @type {Error} */ (error));
    throw new NclustError(
      'ERR_NCLUST_UPDATE_FAILED',
      `Nothing was replaced: the keeper does not make way (${error.message}).`,
      { hint: 'Replace the manager with: nclust kill && nclust resurrect', cause: error },
    );
  }
  if (control.keeper?.digest !== digest) throw updateError(desk, describeRefusal(root));
}

/**
 * @param {Desk} desk
 * @param {Wanted} wanted
 */
function refuseBesideAnother({ control }, { root, node }) {
  const first = underWay.get(control)?.wanted;
  if (first && (first.root !== root || first.node !== node))
    throw busyError(`Another update, to "${first.root}", is under way.`);
}

/** @param {Desk} desk */
async function nextKeeper(desk) {
  await desk.control.meetsNext().catch((error) => {
    throw noKeeperError(desk, error);
  });
}

/**
 * @param {World} world
 * @param {Desired} desired
 * @returns {Change & { about: Receipt['about'] }}  Changes nothing; it is the promise that counts.
 */
function whatIsUp(world, desired) {
  const found = desired.apps.flatMap((app) => app.slots.map((slot) => ({ name: app.spec.name, ...slot })));
  const up = found.filter(
    (slot) => slot.want === 'up' && seatsOfSlot(world, slot.id).some((seat) => seat.life.state === 'up'),
  );
  return {
    desired,
    up: up.map(({ id, generation }) => ({ id, generation })),
    gone: [],
    about: up.map(({ id, name, slot }) => ({ id, name, slot })),
  };
}
