import { NclustError } from '../../../lib/shared/errors.js';
import { ask, reachLiving } from '../app-channel/ask-process.js';

/** @import { ApiContext } from '../context.js' */

/** @typedef {ReturnType<typeof reachLiving>[number]} Worker */

/** An event loop that has not answered for this long counts as blocked. */
const PING_MS = 2_000;

/**
 * @param {Pick<ApiContext, 'control'>} context
 * @param {string} target
 * @returns {Worker}  Throws like reachLiving(), or if the target is not one Node.js process.
 */
export function findWorker({ control }, target) {
  const meant = reachLiving(control.registry, [target]);
  const [one] = meant;
  if (meant.length > 1) {
    throw new NclustError(
      'ERR_NCLUST_BAD_SELECTOR',
      `"${target}" matches ${meant.length} processes, but this command takes only one.`,
      { hint: `Give one of the ids ${meant.map(({ id }) => id).join(', ')}.`, data: { target } },
    );
  }
  if (one.mode !== 'exec') return one;
  throw new NclustError('ERR_NCLUST_NOT_REACHABLE', `"${one.name}" (id ${one.id}) is not a Node.js program.`, {
    hint:
      `Inspect it with the tools of its language: "py-spy dump --pid ${one.instance.pid}", "rbspy", ` +
      `"jstack", or "gdb -p ${one.instance.pid}".`,
    data: { id: one.id, name: one.name, pid: one.instance.pid },
  });
}

/**
 * @param {ApiContext} context
 * @param {Worker} worker
 */
export async function isBlocked(context, worker) {
  try {
    await ask(context, worker, 'ping', {}, PING_MS);
    return false;
  } catch (error) {
    if (error instanceof NclustError && error.code === 'ERR_NCLUST_NO_REPLY') return true;
    throw error;
  }
}

/**
 * Explains a missing answer: an older agent does not answer questions that it does not know.
 * @template T
 * @param {Worker} worker
 * @param {Promise<T>} answer
 */
export async function explainSilence({ id, name }, answer) {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof NclustError) || error.code !== 'ERR_NCLUST_NO_REPLY') throw error;
    throw new NclustError(
      'ERR_NCLUST_NO_REPLY',
      `"${name}" (id ${id}) is responsive but did not answer this request.`,
      {
        hint: `An earlier version of nclust may have started it. Replace it with: nclust reload ${id}`,
        data: { id, name },
      },
    );
  }
}

/** @param {Worker} worker */
export function describeSlot({ id, name, slot, instance }) {
  return { id, name, slot, pid: instance.pid };
}
