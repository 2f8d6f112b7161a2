import { NclustError } from '../../../../lib/shared/errors.js';
import { BadParams } from '../params.js';
import { checkNoSnapshot, orFailure } from './failure.js';
import { ask, isHeldUp, oneWorker, orUnknown, place } from './worker.js';

/** @import { Client } from '../connection.js' */
/** @import { Desk } from '../methods.js' */
/** @import { Worker } from './worker.js' */

const KINDS = ['cpu', 'heap', 'heap-sampling'];

/** What it may take to begin, in ms: V8 looks at every function there is. */
const BEGIN_MS = 15_000;

/** What it may take to end, beyond its span: of a heap with many gigabytes the snapshot takes minutes. */
const END_MS = 60_000;
const SNAPSHOT_MS = 1_800_000;

/**
 * Has a worker profile itself into a file that is there and empty.
 * @param {Desk} desk
 * @param {{target: string, kind: string, durationMs: number, file: string}} question  Asked again with the same file, it waits for the same profile.
 * @param {Pick<Client, 'signal'>} client  Its end gives the profile up, and removes the file.
 * @returns {Promise<object>}  `bytes`: null when its event loop is held up: then only a debugger can do it.
 */
export async function takeProfile(desk, { target, kind, durationMs, file }, { signal }) {
  if (!KINDS.includes(kind)) throw new BadParams('kind', KINDS.map((one) => `"${one}"`).join(' or '));
  const one = oneWorker(desk, target);
  checkNoSnapshot(one);
  if (await isHeldUp(desk, one)) return { slot: place(one), bytes: null };
  const consult = (/** @type {object} */ question, /** @type {number} */ timeoutMs) => ask(desk, one, 'profile', { question: { ...question, file } }, timeoutMs);
  const { instance } = one;
  const gone = whenGone(signal);
  // Nobody may take its silence, or the memory it needs meanwhile, for a fault of the app.
  instance.snapshots = (instance.snapshots ?? 0) + (kind === 'heap' ? 1 : 0);
  try {
    orFailure(one, await orUnknown(one, consult({ step: 'begin', kind, durationMs }, BEGIN_MS)), file);
    const { bytes } = orFailure(one, await Promise.race([consult({ step: 'end' }, kind === 'heap' ? SNAPSHOT_MS : durationMs + END_MS), gone.rejection]), file);
    return { slot: place(one), bytes };
  } catch (error) {
    // Another one's is left alone; a refusal has begun nothing.
    if (error instanceof NclustError && error.code !== 'ERR_NCLUST_PROFILE_BUSY') void consult({ step: 'drop' }, 0).catch(() => {}); // It has ended, or reads it when it can.
    throw error;
  } finally {
    gone.forget();
    instance.snapshots -= kind === 'heap' ? 1 : 0;
  }
}

/** @param {AbortSignal} signal */
function whenGone(signal) {
  /** @type {() => void} */
  let onAbort = () => {};
  /** @type {Promise<never>} */
  const rejection = new Promise((_, reject) => {
    onAbort = () => reject(new NclustError('ERR_NCLUST_INTERRUPTED', 'Who asked for the profile has gone.'));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  rejection.catch(() => {}); // Where it is not waited for yet.
  return { rejection, forget: () => signal.removeEventListener('abort', onAbort) };
}
