import { NclustError } from '../../../lib/shared/errors.js';

/** @import { ApiContext } from '../api/methods.js' */
/** @import { Wanted } from '../api/update.js' */
/** @import { Snapshot } from '../keeper-link/link.js' */

const HOW = {
  unready: 'did not get ready',
  crashed: 'ended again and again soon after it was ready',
  silent: 'did not answer any more soon after it was ready',
};

/**
 * Why the manager is not the one that was asked for.
 * @param {string} root  Of the installation that was.
 * @param {Snapshot['refusedWhy']} [why]  An earlier version of the keeper does not say.
 */
export function describeRefusal(root, why) {
  return `The manager of "${root}" ${HOW[why ?? 'unready']}, so the one that ran before goes on.`;
}

/**
 * A control that was asked before, and still is not the one that was asked for: was that one tried,
 * and did not run?
 * @param {ApiContext} context
 * @param {Wanted} wanted
 */
export function refuseWhatWasTakenBack(context, { root, token }) {
  if (!context.control.hasSeen(token)) return;
  const { refusedRoot, refusedWhy } = context.control.keeper ?? {};
  if (refusedRoot === root) throw updateError(context, describeRefusal(root, refusedWhy));
}

/**
 * Two updates that each undo what the other has done would never end: the last one counts.
 * @param {ApiContext} context
 * @param {Wanted} wanted
 */
export function refuseWhenOvertaken({ control }, { root, token }) {
  const { tokens } = control.registry.desired;
  const later = tokens.slice(tokens.findIndex((receipt) => receipt.token === token) + 1);
  const last = later.findLast((receipt) => receipt.root !== undefined);
  if (last && last.root !== root) throw busyError(`Another update, to "${last.root}", came after this one.`);
}

/** @param {string} message */
export function busyError(message) {
  return new NclustError('ERR_NCLUST_UPDATE_BUSY', message, {
    hint: 'See which version runs with "nclust ping", and update again if it is not the one you want.',
  });
}

/**
 * @param {ApiContext} context
 * @param {Error} error
 */
export function noKeeperError(context, error) {
  return updateError(
    context,
    `The keeper is gone, and no other could be started yet (${error.message}); the apps go on, and control ` +
      `goes on trying.`,
  );
}

/**
 * @param {ApiContext} context
 * @param {string} message
 */
export function updateError({ paths }, message) {
  return new NclustError('ERR_NCLUST_UPDATE_FAILED', message, { hint: `The reason is in ${paths.daemonLog}` });
}
