import { existsSync } from 'node:fs';
import { NclustError } from '../../../lib/shared/errors.js';
import { KeeperRefusal } from '../keeper-link.js';
import { seatsOfSlot } from '../world.js';
import { finish, WAITABLE } from './changes.js';
import { readParams, text } from './params.js';

/** @import { Change, Desired } from '../desired.js' */
/** @import { Receipt } from '../requests.js' */
/** @import { World } from '../world.js' */
/** @import { Client } from './connection.js' */
/** @import { Desk, MethodBody } from './methods.js' */

const UPDATE = { ...WAITABLE, root: text, node: text, nodeVersion: text };

/** @typedef {{root: string, node: string, nodeVersion: string, token: string}} Wanted */

/** Which parts of the manager are not what they should be. @typedef {'none'|'control'|'keeper'} Stale  `keeper`: both. */

/** Replacing the manager itself. @satisfies {Record<string, MethodBody>} */
export const updating = {
  /**
   * Makes the manager one of the given installation. A control that finds itself outdated never answers: it ends, the client asks the next one, and
   * that one, finding nothing to do, waits until every app that was up is up again.
   *
   *     control only:  move -> control ends -> the keeper starts control from the new root
   *     keeper too:    abdicate -> the keeper ends -> control starts one from the new root, gives it the sockets, introduces the orphans -> control ends
   *
   * @type {MethodBody}
   */
  async update(desk, params, client) {
    const wanted = readParams(UPDATE, params);
    if (desk.control.hasSeen(wanted.token)) refuseAnotherTry(desk, wanted);
    const told = await desk.parts.probe(wanted);
    const stale = await whatIsStale(desk, wanted, told);
    const receipt = desk.control.mutate('update', wanted.token, (desired) => whatIsUp(desk.control.world, desired));
    if (stale === 'none') return { slots: await finish(desk, receipt, wanted.wait, client, wanted.progress) };
    desk.parts.journal('update-begun', { version: told.control.version, root: wanted.root, replaces: stale });
    await (stale === 'keeper' ? replaceBoth(desk, wanted, told.keeper.digest) : replaceControl(desk, wanted));
    desk.parts.makeWay();
    return {};
  },
};

/**
 * @param {Desk} desk
 * @param {Wanted} wanted
 * @param {{keeper: {digest: string}, control: {digest: string}}} told  By the code that is installed there.
 * @returns {Promise<Stale>}
 */
async function whatIsStale({ control, parts }, { root, node, nodeVersion }, told) {
  const isOtherNode = nodeVersion !== process.version || (node !== parts.own.node && !existsSync(parts.own.node));
  if (isOtherNode || told.keeper.digest !== control.keeper?.digest) return 'keeper';
  return told.control.digest !== parts.own.digest || root !== parts.own.root ? 'control' : 'none';
}

/**
 * @param {Desk} desk
 * @param {Wanted} wanted
 */
async function replaceControl({ control }, { root }) {
  await control.askKeeper('move', { root });
}

/**
 * @param {Desk} desk
 * @param {Wanted} wanted
 * @param {string} digest  Of the keeper that is to come.
 */
async function replaceBoth({ control, paths }, { root, node }, digest) {
  try {
    await control.exchangeKeeper({ root, node });
  } catch (error) {
    if (!(error instanceof KeeperRefusal)) throw error;
    throw new NclustError('ERR_NCLUST_UPDATE_FAILED', `Nothing was replaced: the keeper does not make way (${error.message}).`, { hint: 'Replace the manager with: nclust kill && nclust resurrect', cause: error });
  }
  if (control.keeper?.digest !== digest) throw failed(root, paths.daemonLog);
}

/**
 * A control that was asked before, and still is not the one that was asked for: was that one tried and did not get ready?
 * @param {Desk} desk
 * @param {Wanted} wanted
 */
function refuseAnotherTry({ control, paths }, { root }) {
  if (control.keeper?.refusedRoot === root) throw failed(root, paths.daemonLog);
}

/**
 * @param {string} root
 * @param {string} log
 */
function failed(root, log) {
  return new NclustError('ERR_NCLUST_UPDATE_FAILED', `The manager of "${root}" did not get ready, so the one that ran before goes on.`, { hint: `The reason is in ${log}` });
}

/**
 * @param {World} world
 * @param {Desired} desired
 * @returns {Change & {about: Receipt['about']}}  Changes nothing; it is the promise that counts.
 */
function whatIsUp(world, desired) {
  const found = desired.apps.flatMap((app) => app.slots.map((slot) => ({ name: app.spec.name, ...slot })));
  const up = found.filter((slot) => slot.want === 'up' && seatsOfSlot(world, slot.id).some((seat) => seat.life.state === 'up'));
  return { desired, up: up.map(({ id, generation }) => ({ id, generation })), gone: [], about: up.map(({ id, name, slot }) => ({ id, name, slot })) };
}
