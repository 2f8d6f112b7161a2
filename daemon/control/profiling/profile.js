// Knows: how to get a profile, a stack or a debugger of one worker, for a limited time. Must not:
// leave an inspector open that this file has opened.
import { hasSignal } from '../../../lib/shared/daemon/home-processes.js';
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

/**
 * Opens the inspector even if the event loop is blocked, because Node.js handles SIGUSR1 in another
 * thread. After the client has sent `isOver` or disconnected, the worker closes the inspector as
 * soon as its event loop runs.
 * @param {ApiContext} context
 * @param {{ target: string, isOver: boolean, isLeftOpen: boolean }} question
 *   `isLeftOpen`: the inspector was open before, and stays open.
 * @param {Pick<Client, 'subscriptions' | 'signal'>} client
 * @returns {Promise<object>}
 */
export async function openInspector(context, { target, isOver, isLeftOpen }, { subscriptions, signal }) {
  const worker = findWorker(context, target);
  const subscription = `break-in-${worker.id}`;
  // Ignores errors: the worker has exited, reads this later, or is replaced with its keeper.
  const shut = () => void ask(context, worker, 'profile', { question: { step: 'shut' } }, 0).catch(() => {});
  if (isOver || isLeftOpen) {
    subscriptions.delete(subscription);
    if (isOver) shut();
    return { slot: describeSlot(worker) };
  }
  assertCatchesSignal(worker);
  await assertNoOwnHandler(context, worker);
  if (signal.aborted) return { slot: describeSlot(worker) };
  subscriptions.set(subscription, shut);
  await ask(context, worker, 'signal', { signal: 'SIGUSR1' });
  return { slot: describeSlot(worker) };
}

/**
 * Throws if the process does not catch SIGUSR1, because the signal would end the process. Also
 * throws on systems other than Linux.
 * @param {Worker} worker
 */
function assertCatchesSignal(worker) {
  const { pid } = worker.instance;
  if (process.platform !== 'linux')
    throw refusal(worker, 'does not answer, and nclust can inspect such a process only on Linux', `sample ${pid}`);
  if (!hasSignal(pid, 'SigCgt', 'SIGUSR1'))
    throw refusal(
      worker,
      'does not answer, and a debugger cannot attach: it has only just started, or its Node.js runs ' +
        'with --disable-sigusr1',
      `gdb -p ${pid}`,
    );
}

/**
 * @param {ApiContext} context
 * @param {Worker} worker
 */
async function assertNoOwnHandler(context, worker) {
  const { reports } = await ask(context, worker, 'reports', {});
  if (!reports[worker.instance.instanceId]?.ownsUsr1) return;
  throw refusal(
    worker,
    'does not answer, and handles SIGUSR1 itself, so a debugger cannot attach',
    `gdb -p ${worker.instance.pid}`,
  );
}

/**
 * @param {Worker} worker
 * @param {string} what
 * @param {string} hint
 */
function refusal({ id, name }, what, hint) {
  return new NclustError('ERR_NCLUST_NOT_REACHABLE', `"${name}" (id ${id}) ${what}.`, { hint, data: { id, name } });
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
