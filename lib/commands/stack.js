import { oneWorker } from './one-worker.js';

/** @typedef {import('../profile/stack-of.js').Frame} Frame */

/**
 * @typedef {object} Stack
 * @property {{id: number, name: string, slot: number, pid: number}} slot
 * @property {boolean} isHeldUp  Its event loop does not turn: the frames are those of one moment, else those that were seen most often.
 * @property {number|null} busy  0 to 1: which part of the time it did something. Null when its loop is held up.
 * @property {number} durationMs  For so long it was looked at. 0: a moment.
 * @property {Frame[]} frames  The innermost first. Empty: it ran no JavaScript.
 * @property {string[]} resources  What keeps it alive, in Node's words; empty when its loop is held up.
 */

const LOOK_MS = 200;

/**
 * What a worker runs now.
 * @param {import('../context.js').Context} context
 * @param {string[]} words  The target.
 * @returns {Promise<Stack>}  Throws ERR_NCLUST_APP_NOT_FOUND, ERR_NCLUST_NO_PROCESS, ERR_NCLUST_BAD_SELECTOR, ERR_NCLUST_NOT_REACHABLE, ERR_NCLUST_NO_REPLY and
 *   ERR_NCLUST_INTERRUPTED.
 */
export async function stack(context, words) {
  const { client, worker } = await oneWorker(context, words);
  const { slot, stack: seen } = await client.request('stack', { target: String(worker.id), durationMs: LOOK_MS });
  const { fileOf, stackOf } = await import('../profile/stack-of.js');
  if (seen) {
    const frames = seen.frames.map((/** @type {any} */ { name, url, line, column }) => ({ name, file: fileOf(url), line, column }));
    return { slot, isHeldUp: false, busy: seen.busy, durationMs: LOOK_MS, frames, resources: seen.resources };
  }
  const { breakIn } = await import('../profile/break-in.js');
  return { slot, isHeldUp: true, busy: null, durationMs: 0, frames: await breakIn(context, client, worker, stackOf), resources: [] };
}
