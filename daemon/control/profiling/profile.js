// Knows: how to get a profile, a stack or a debugger of one worker, for a limited time. Must not:
// leave an inspector open that this folder has opened.
import { NclustError } from '../../../lib/shared/errors.js';
import { ask } from '../app-channel/ask-process.js';
import { describeSlot, explainSilence, findWorker, isBlocked } from './worker.js';

/** @import { ApiContext, Client } from '../context.js' */
/** @import { Worker } from './worker.js' */

/** Time limit for the start of a profile, in ms, because V8 first walks through all functions. */
const BEGIN_MS = 15_000;

/** Time to get the answer after the end of a profile, in ms. */
const END_MS = 60_000;

/** Time limit for a heap snapshot, in ms. A heap of many gigabytes takes minutes. */
const SNAPSHOT_MS = 1_800_000;

/**
 * Makes a worker write a profile of itself into an existing, empty file.
 * @param {ApiContext} context
 * @param {{ target: string, kind: string, durationMs: number, file: string }} question
 *   `file` identifies the profile: if the client repeats the request after a restart of control,
 *   the request waits for the same profile.
 * @param {Pick<Client, 'signal'>} client  If the client disconnects, the profile is dropped.
 * @returns {Promise<object>}  `bytes` is null if the event loop is blocked: use a debugger.
 */
export async function takeProfile(context, { target, kind, durationMs, file }, { signal }) {
  const worker = findWorker(context, target);
  assertNoSnapshot(worker);
  if (await isBlocked(context, worker)) return { slot: describeSlot(worker), bytes: null };
  const askAgent = (/** @type {object} */ question, /** @type {number} */ timeoutMs) =>
    ask(context, worker, 'profile', { question: { ...question, file } }, timeoutMs);
  const { instance } = worker;
  const gone = rejectWhenGone(signal);
  // Counts the snapshot, because during a snapshot the silence and the memory of the worker are not
  // a fault of the app.
  instance.snapshots = (instance.snapshots ?? 0) + (kind === 'heap' ? 1 : 0);
  try {
    const begun = await explainSilence(worker, askAgent({ step: 'begin', kind, durationMs }, BEGIN_MS));
    unwrap(worker, begun, file);
    const end = askAgent({ step: 'end' }, kind === 'heap' ? SNAPSHOT_MS : durationMs + END_MS);
    const { bytes } = unwrap(worker, await Promise.race([end, gone.rejection]), file);
    return { slot: describeSlot(worker), bytes };
  } catch (error) {
    // Drops the profile. If the worker is busy, its profile belongs to another client and stays.
    if (error instanceof NclustError && error.code !== 'ERR_NCLUST_PROFILE_BUSY')
      void askAgent({ step: 'drop' }, 0).catch(() => {}); // The worker has exited, or reads this later.
    throw error;
  } finally {
    gone.forget();
    instance.snapshots -= kind === 'heap' ? 1 : 0;
  }
}

/** @param {AbortSignal} signal */
function rejectWhenGone(signal) {
  /** @type {() => void} */
  let onAbort = () => {};
  /** @type {Promise<never>} */
  const rejection = new Promise((_, reject) => {
    onAbort = () =>
      reject(new NclustError('ERR_NCLUST_INTERRUPTED', 'The client that asked for the profile has disconnected.'));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  // Without this handler, a rejection before takeProfile() waits for the promise would end control.
  rejection.catch(() => {});
  return { rejection, forget: () => signal.removeEventListener('abort', onAbort) };
}

/** Time to get the answer after the end of a stack sample, in ms. */
const EXTRA_MS = 10_000;

/**
 * @param {ApiContext} context
 * @param {{ target: string, durationMs: number }} question
 * @returns {Promise<object>}  `stack` is null if the event loop is blocked. Then only a debugger
 *   can show the stack.
 */
export async function sampleStack(context, { target, durationMs }) {
  const worker = findWorker(context, target);
  assertNoSnapshot(worker);
  if (await isBlocked(context, worker)) return { slot: describeSlot(worker), stack: null };
  const asked = ask(context, worker, 'profile', { question: { step: 'stack', durationMs } }, durationMs + EXTRA_MS);
  const { stack } = unwrap(worker, await explainSilence(worker, asked));
  return { slot: describeSlot(worker), stack };
}

const FILE_ERROR = /^E(ACCES|DQUOT|EXIST|FBIG|IO|LOOP|MFILE|NOENT|NOSPC|NOTDIR|PERM|ROFS)$/;

/** @param {Worker} worker */
function assertNoSnapshot(worker) {
  if (worker.instance.snapshots) unwrap(worker, { failure: { code: 'EBUSY', message: 'heap' } });
}

/**
 * @template {{ failure: { code: string, message: string } | null }} T
 * @param {Pick<Worker, 'id' | 'name'>} about
 * @param {T} answer
 * @param {string} [file]
 * @returns {T}  Throws an NclustError if the agent failed.
 */
function unwrap({ id, name }, answer, file) {
  if (!answer.failure) return answer;
  const { code, message } = answer.failure;
  const who = `"${name}" (id ${id})`;
  const data = { id, name };
  if (code === 'EBUSY')
    throw new NclustError('ERR_NCLUST_PROFILE_BUSY', `A profile of ${who} is already running (${message}).`, {
      hint: 'Wait until it is done, or stop the command that takes it.',
      data,
    });
  if (file !== undefined && FILE_ERROR.test(code)) {
    throw new NclustError(
      'ERR_NCLUST_FILE_UNWRITABLE',
      `${who} cannot write "${file}" (${code}); nothing of it was kept.`,
      {
        hint:
          'The process itself writes the file: with --output, choose a folder that it may write to, on a disk ' +
          'with space.',
        data: { ...data, file },
      },
    );
  }
  throw new NclustError('ERR_NCLUST_NOT_REACHABLE', `${who} cannot be inspected: ${message}.`, { data });
}
