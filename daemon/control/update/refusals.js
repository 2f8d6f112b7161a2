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
