import { checkNoSnapshot, orFailure } from './failure.js';
import { ask, isHeldUp, oneWorker, orUnknown, place } from './worker.js';

/** @import { Desk } from '../methods.js' */

/** What it may take to begin and to end the look, beyond the look itself, in ms. */
const EXTRA_MS = 10_000;

/**
 * What a worker runs, as it sees itself.
 * @param {Desk} desk
 * @param {{target: string, durationMs: number}} question
 * @returns {Promise<object>}  `stack`: null when its event loop is held up: then only a debugger sees it.
 */
export async function lookAtStack(desk, { target, durationMs }) {
  const one = oneWorker(desk, target);
  checkNoSnapshot(one);
  if (await isHeldUp(desk, one)) return { slot: place(one), stack: null };
  const { stack } = orFailure(one, await orUnknown(one, ask(desk, one, 'profile', { question: { step: 'stack', durationMs } }, durationMs + EXTRA_MS)));
  return { slot: place(one), stack };
}
