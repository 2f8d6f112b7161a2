import { reachListed } from './apps/targets.js';

/**
 * @typedef {object} Inspected
 * @property {{id: number, name: string, slot: number, pid: number}} slot
 * @property {string|null} url  Where the inspector listens now.
 * @property {string|null} was  Where it listened before.
 */

/**
 * Turns the inspector of a process on or off.
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} words  The target.
 * @param {Record<string, any>} options
 * @returns {Promise<Inspected>}  Throws ERR_NCLUST_APP_NOT_FOUND, ERR_NCLUST_NO_PROCESS, ERR_NCLUST_NOT_REACHABLE and ERR_NCLUST_NO_REPLY.
 */
export async function inspect(context, words, { stop }) {
  const { client, targets } = await reachListed(context, words);
  const { slot, url, was } = await client.request('inspect', { target: targets[0], ...(stop ? { stop } : {}) });
  return { slot, url, was };
}
