import { newToken } from '../cli/outcome.js';
import { NclustError } from '../shared/errors.js';
import { reachListed } from './apps/targets.js';

/** @typedef {import('../shared/wire/protocol.js').TriggerReply} TriggerReply */

/**
 * Calls a custom action of apps.
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} words  The target, the action, its parameters.
 * @returns {Promise<{replies: TriggerReply[], exitStatus: number}>}  Of the processes that have the action; 1 when one of them did not reply. Throws
 *   ERR_NCLUST_APP_NOT_FOUND, ERR_NCLUST_NO_PROCESS and ERR_NCLUST_NO_ACTION.
 */
export async function trigger(context, [word, action, params]) {
  const { client, targets } = await reachListed(context, [word]);
  const { replies } = /** @type {{replies: TriggerReply[]}} */ (await client.request('trigger', { targets, action, token: newToken(), ...(params === undefined ? {} : { params }) }));
  const called = replies.filter(({ outcome }) => !['no-action', 'no-node', 'no-process'].includes(outcome));
  if (called.length === 0) throw nobodyHas(word, action, replies);
  return { replies: called, exitStatus: called.every(({ outcome }) => outcome === 'replied') ? 0 : 1 };
}

/**
 * @param {string} word
 * @param {string} action
 * @param {TriggerReply[]} replies
 */
function nobodyHas(word, action, replies) {
  if (replies.every(({ outcome }) => outcome === 'no-process')) return new NclustError('ERR_NCLUST_NO_PROCESS', `No process of "${word}" runs.`, { hint: 'See: nclust list' });
  const actions = [...new Set(replies.flatMap((reply) => reply.actions ?? []))];
  const hint = actions.length > 0 ? `There ${actions.length === 1 ? 'is' : 'are'}: ${actions.join(', ')}` : 'An app registers one with process.send({type: "axm:action", data: {action_name}}), or the package tx2. See docs/messages.md.';
  return new NclustError('ERR_NCLUST_NO_ACTION', `No process of "${word}" has registered the action "${action}".`, { hint, data: { actions } });
}
