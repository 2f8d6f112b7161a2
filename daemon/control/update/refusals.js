import { NclustError } from '../../../lib/shared/errors.js';

/** @import { ApiContext } from '../context.js' */

/** @typedef {{ root: string, node: string, nodeVersion: string, token: string }} Installation */

const HOW = {
  unready: 'did not become ready',
  crashed: 'kept exiting soon after it was ready',
  silent: 'stopped answering soon after it was ready',
};

/**
 * @param {string} root
 * @param {keyof typeof HOW | null} [why]  Missing if the keeper is of an earlier version.
 */
export function describeRefusal(root, why) {
  return `The manager of "${root}" ${HOW[why ?? 'unready']}, so the previous manager keeps running.`;
}

/**
 * @param {ApiContext} context
 * @param {Installation} wanted
 */
export function refuseWhatWasTakenBack(context, { root, token }) {
  if (!context.control.hasSeen(token)) return;
  const { refusedRoot, refusedWhy } = context.control.keeper ?? {};
  if (refusedRoot === root) throw updateError(context, describeRefusal(root, refusedWhy));
}

/**
 * Throws if a later update to another installation was requested, because two updates that undo
 * each other would never end.
 * @param {ApiContext} context
 * @param {Installation} wanted
 */
export function refuseWhenOvertaken({ control }, { root, token }) {
  const { tokens } = control.registry.desired;
  const later = tokens.slice(tokens.findIndex((receipt) => receipt.token === token) + 1);
  const last = later.findLast((receipt) => receipt.root !== undefined);
  if (last && last.root !== root) throw busyError(`A later update, to "${last.root}", replaced this one.`);
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
    `The keeper has exited, and another one could not be started yet (${error.message}); the apps keep running, and ` +
      `control keeps retrying.`,
  );
}

/**
 * @param {ApiContext} context
 * @param {string} message
 */
export function updateError({ paths }, message) {
  return new NclustError('ERR_NCLUST_UPDATE_FAILED', message, { hint: `The reason is in ${paths.daemonLog}` });
}
