import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { NclustError } from '../../../lib/shared/errors.js';
import { ask, isHeldUp, oneWorker, orUnknown, place } from './worker.js';

/** @import { Client } from '../api/connection.js' */
/** @import { Desk } from '../api/methods.js' */
/** @import { Worker } from './worker.js' */

/** What it may take to begin, in ms: V8 looks at every function there is. */
const BEGIN_MS = 15_000;

/**
 * What it may take to end, beyond its span: of a heap with many gigabytes the snapshot takes
 * minutes.
 */
const END_MS = 60_000;
const SNAPSHOT_MS = 1_800_000;

/**
 * Has a worker profile itself into a file that is there and empty.
 * @param {Desk} desk
 * @param {{ target: string, kind: string, durationMs: number, file: string }} question  Asked again
 *   with the same file, it waits for the same profile.
 * @param {Pick<Client, 'signal'>} client  Its end gives the profile up, and removes the file.
 * @returns {Promise<object>}  `bytes`: null when its event loop is held up: then only a debugger
 *   can do it.
 */
export async function takeProfile(desk, { target, kind, durationMs, file }, { signal }) {
  const one = oneWorker(desk, target);
  checkNoSnapshot(one);
  if (await isHeldUp(desk, one)) return { slot: place(one), bytes: null };
  const consult = (/** @type {object} */ question, /** @type {number} */ timeoutMs) =>
    ask(desk, one, 'profile', { question: { ...question, file } }, timeoutMs);
  const { instance } = one;
  const gone = whenGone(signal);
  // Nobody may take its silence, or the memory it needs meanwhile, for a fault of the app.
  instance.snapshots = (instance.snapshots ?? 0) + (kind === 'heap' ? 1 : 0);
  try {
    orFailure(one, await orUnknown(one, consult({ step: 'begin', kind, durationMs }, BEGIN_MS)), file);
    const { bytes } = orFailure(
      one,
      await Promise.race([
        consult({ step: 'end' }, kind === 'heap' ? SNAPSHOT_MS : durationMs + END_MS),
        gone.rejection,
      ]),
      file,
    );
    return { slot: place(one), bytes };
  } catch (error) {
    // Another one's is left alone; a refusal has begun nothing.
    if (error instanceof NclustError && error.code !== 'ERR_NCLUST_PROFILE_BUSY')
      void consult({ step: 'drop' }, 0).catch(() => {}); // It has ended, or reads it when it can.
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

/** What it may take to begin and to end the look, beyond the look itself, in ms. */
const EXTRA_MS = 10_000;

/**
 * What a worker runs, as it sees itself.
 * @param {Desk} desk
 * @param {{ target: string, durationMs: number }} question
 * @returns {Promise<object>}  `stack`: null when its event loop is held up: then only a debugger
 *   sees it.
 */
export async function lookAtStack(desk, { target, durationMs }) {
  const one = oneWorker(desk, target);
  checkNoSnapshot(one);
  if (await isHeldUp(desk, one)) return { slot: place(one), stack: null };
  const { stack } = orFailure(
    one,
    await orUnknown(one, ask(desk, one, 'profile', { question: { step: 'stack', durationMs } }, durationMs + EXTRA_MS)),
  );
  return { slot: place(one), stack };
}

/**
 * Lets a debugger into a worker whose event loop is held up: Node takes SIGUSR1 in a thread of its
 * own, and opens the inspector on a free port of 127.0.0.1. When the client says that it is over,
 * or goes, it is shut as soon as the loop turns.
 * @param {Desk} desk
 * @param {{ target: string, isOver: boolean, isLeftOpen: boolean }} question  `isLeftOpen`:
 *   somebody had opened it before.
 * @param {Pick<Client, 'subscriptions' | 'signal'>} client
 * @returns {Promise<object>}
 */
export async function breakIn(desk, { target, isOver, isLeftOpen }, { subscriptions, signal }) {
  const one = oneWorker(desk, target);
  const subscription = `break-in-${one.id}`;
  // A keeper that is just being replaced has left it an orphan, which control replaces.
  const shut = () => void ask(desk, one, 'profile', { question: { step: 'shut' } }, 0).catch(() => {});
  if (isOver || isLeftOpen) {
    subscriptions.delete(subscription);
    if (isOver) shut();
    return { slot: place(one) };
  }
  checkListens(one);
  await checkOwnHandler(desk, one);
  if (signal.aborted) return { slot: place(one) };
  subscriptions.set(subscription, shut);
  await ask(desk, one, 'signal', { signal: 'SIGUSR1' });
  return { slot: place(one) };
}

/**
 * The signal would end a process that does not catch it.
 * @param {Worker} one
 */
function checkListens(one) {
  const { pid } = one.instance;
  if (process.platform !== 'linux')
    throw refusal(
      one,
      'does not answer, and only on Linux can nclust look into a process that does not',
      `See: sample ${pid}`,
    );
  const caught = /^SigCgt:\s*([0-9a-f]+)$/m.exec(statusOf(pid))?.[1] ?? '0';
  const isCaught = ((BigInt(`0x${caught}`) >> BigInt(constants.signals.SIGUSR1 - 1)) & 1n) === 1n;
  if (!isCaught)
    throw refusal(
      one,
      'does not answer, and does not let a debugger in: it has only just begun, or its Node was started ' +
        'with --disable-sigusr1',
      `See: gdb -p ${pid}`,
    );
}

/** @param {number} pid */
function statusOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return ''; // It has just ended.
  }
}

/**
 * @param {Desk} desk
 * @param {Worker} one
 */
async function checkOwnHandler(desk, one) {
  const { reports } = await ask(desk, one, 'reports', {});
  if (!reports[one.instance.instanceId]?.ownsUsr1) return;
  throw refusal(
    one,
    'does not answer, and takes SIGUSR1 itself, with which Node would let a debugger in',
    `See: gdb -p ${one.instance.pid}`,
  );
}

/**
 * @param {Worker} one
 * @param {string} what
 * @param {string} hint
 */
function refusal({ id, name }, what, hint) {
  return new NclustError('ERR_NCLUST_NOT_REACHABLE', `"${name}" (id ${id}) ${what}.`, { hint, data: { id, name } });
}

/** What a file system says. */
const OF_FILES = new Set([
  'EACCES',
  'EDQUOT',
  'EEXIST',
  'EFBIG',
  'EIO',
  'ELOOP',
  'EMFILE',
  'ENOENT',
  'ENOSPC',
  'ENOTDIR',
  'EPERM',
  'EROFS',
]);

/**
 * Whoever takes a snapshot of its heap stands still, and is not held up by its own code.
 * @param {Worker} one
 */
function checkNoSnapshot(one) {
  if (one.instance.snapshots) orFailure(one, { failure: { code: 'EBUSY', message: 'heap' } });
}

/**
 * @template {{ failure: { code: string, message: string } | null }} T
 * @param {Pick<Worker, 'id' | 'name'>} about
 * @param {T} answer  Of an agent.
 * @param {string} [file]
 * @returns {T}  Throws ERR_NCLUST_PROFILE_BUSY, ERR_NCLUST_FILE_UNWRITABLE and
 *   ERR_NCLUST_NOT_REACHABLE for what went wrong in the process.
 */
function orFailure({ id, name }, answer, file) {
  if (!answer.failure) return answer;
  const { code, message } = answer.failure;
  const who = `"${name}" (id ${id})`;
  const data = { id, name };
  if (code === 'EBUSY')
    throw new NclustError('ERR_NCLUST_PROFILE_BUSY', `A profile of ${who} is under way (${message}).`, {
      hint: 'Wait for it, or end the command that takes it.',
      data,
    });
  if (file !== undefined && OF_FILES.has(code)) {
    throw new NclustError(
      'ERR_NCLUST_FILE_UNWRITABLE',
      `${who} cannot write "${file}" (${code}); nothing of it was kept.`,
      {
        hint: 'The process itself writes it: choose with --output a folder it may write to, on a disk with room.',
        data: { ...data, file },
      },
    );
  }
  throw new NclustError('ERR_NCLUST_NOT_REACHABLE', `${who} cannot be looked into: ${message}.`, { data });
}
