import { resolve } from 'node:path';
import { createOutput, KINDS } from '../profile/output-file.js';
import { NclustError } from '../shared/errors.js';
import { fileStem } from '../shared/paths.js';
import { DURATION_FORMS, formatDuration, parseDuration } from '../shared/units.js';
import { reachListed } from './apps/targets.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { Client } from '../client/client.js' */
/** @import { Kind, Output } from '../profile/output-file.js' */
/** @import { SlotStatus } from '../shared/wire/protocol.js' */

/**
 * @typedef {object} Profiled
 * @property {{ id: number, name: string, slot: number, pid: number }} slot
 * @property {Kind['word']} kind
 * @property {number | null} durationMs  Null: a heap snapshot.
 * @property {string} file
 * @property {number} bytes
 * @property {'itself' | 'debugger'} by  A blocked process cannot profile itself.
 */

const DEFAULT_MS = 10_000;
const MIN_MS = 100;
const MAX_MS = 3_600_000;

/**
 * @param {Context} context
 * @param {string[]} words
 * @param {Record<string, any>} options
 * @returns {Promise<Profiled>}
 */
export async function profile(context, words, options) {
  const printMessage = options.json ? () => {} : context.printMessage;
  const { kind, durationMs } = readKind(options);
  const { client, worker } = await selectWorker(context, words);
  const file = resolve(context.cwd, options.output ?? defaultName(worker, kind, new Date()));
  const output = createOutput(file, worker.pid);
  try {
    // Announces no profile of a program other than Node.js, because the manager will refuse it.
    if (worker.nodeVersion !== null) printMessage(announcement(worker, kind, durationMs));
    const by = await take({ ...context, printMessage }, client, worker, { kind, durationMs, output });
    const bytes = output.keep();
    printMessage(`Open it in Chrome: the developer tools (F12), ${kind.panel}, Load profile.`);
    const { id, name, slot, pid } = worker;
    return {
      slot: { id, name, slot, pid },
      kind: kind.word,
      durationMs: kind.word === 'heap' ? null : durationMs,
      file,
      bytes,
      by,
    };
  } finally {
    output.discard();
  }
}

/** @param {Record<string, any>} options */
function readKind({ cpu, heap, heapSampling }) {
  const given = [cpu, heap, heapSampling].filter((one) => one !== undefined);
  if (given.length > 1)
    throw new NclustError('ERR_NCLUST_USAGE', 'Only one of --cpu, --heap and --heap-sampling can be taken at a time.', {
      hint: 'nclust help profile',
    });
  if (heap) return { kind: KINDS.heap, durationMs: 0 };
  if (heapSampling !== undefined)
    return { kind: KINDS.heapSampling, durationMs: readSpan('--heap-sampling', heapSampling) };
  return { kind: KINDS.cpu, durationMs: readSpan('--cpu', cpu ?? true) };
}

/**
 * @param {string} flag
 * @param {string | true} given
 */
function readSpan(flag, given) {
  const ms = given === true ? DEFAULT_MS : parseDuration(given);
  if (ms !== null && ms >= MIN_MS && ms <= MAX_MS) return ms;
  throw new NclustError('ERR_NCLUST_USAGE', `${flag} cannot be "${given}".`, {
    hint: `Accepted: from ${formatDuration(MIN_MS)} to ${formatDuration(MAX_MS)}, as ${DURATION_FORMS}.`,
  });
}

/**
 * @param {SlotStatus} worker
 * @param {Kind} kind
 * @param {Date} now
 */
function defaultName({ name, id }, { ending }, now) {
  const two = (/** @type {number} */ number) => String(number).padStart(2, '0');
  const date = `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
  const time = `${two(now.getHours())}-${two(now.getMinutes())}-${two(now.getSeconds())}`;
  return `${fileStem(name)}-${id}-${date}T${time}.${ending}`;
}

/**
 * @param {SlotStatus} worker
 * @param {Kind} kind
 * @param {number} durationMs
 */
function announcement({ id, name, pid }, { word }, durationMs) {
  const who = `"${name}" (id ${id}, pid ${pid})`;
  if (word !== 'heap')
    return `Taking a ${word} profile of ${who} for ${formatDuration(durationMs)}. Ctrl-C cancels it.`;
  return (
    `Taking a snapshot of the heap of ${who}. The worker is paused until the snapshot is written. It needs ` +
    `about 1 KB of extra memory for each object, and keeps it: 1 GB for a million objects.`
  );
}

/**
 * @param {Context} context
 * @param {Client} client
 * @param {SlotStatus} worker
 * @param {{ kind: Kind, durationMs: number, output: Output }} what
 */
async function take(context, client, worker, what) {
  if (await takesItself(context, client, worker, what)) return 'itself';
  const { kind, durationMs, output } = what;
  const [{ openInspector }, { takeInside }] = await Promise.all([
    import('../profile/break-in.js'),
    import('../profile/stack.js'),
  ]);
  try {
    await openInspector(context, client, worker, (inside, signal) =>
      takeInside(inside, { kind, durationMs, output, signal }),
    );
    return 'debugger';
  } catch (error) {
    if (!(error instanceof NclustError) || error.code !== 'ERR_NCLUST_NO_REPLY') throw error;
    // Asks the worker again, because its event loop may be free by now.
    context.printMessage(
      'No debugger could attach. nclust asks the worker once more, and it takes the profile itself if it answers.',
    );
    if (await takesItself(context, client, worker, what)) return 'itself';
    throw error;
  }
}

/**
 * @param {Context} context
 * @param {Client} client
 * @param {SlotStatus} worker
 * @param {{ kind: Kind, durationMs: number, output: Output }} what
 * @returns {Promise<boolean>}  False: the event loop of the worker is blocked.
 */
async function takesItself(context, client, { id, name }, { kind, durationMs, output }) {
  const interrupt = new AbortController();
  const release = context.onInterrupt(() =>
    interrupt.abort(
      new NclustError(
        'ERR_NCLUST_INTERRUPTED',
        `The profile of "${name}" (id ${id}) was cancelled, and nothing of it was kept.`,
      ),
    ),
  );
  try {
    const { bytes } = await client.request(
      'profile',
      { target: String(id), kind: kind.word, durationMs, file: output.writable },
      { signal: interrupt.signal },
    );
    return bytes !== null;
  } finally {
    release();
  }
}

/**
 * @param {Context} context
 * @param {string[]} words
 * @returns {Promise<{ client: Client, worker: SlotStatus }>}  Rejects like reachListed(), with
 *   ERR_NCLUST_NO_PROCESS if no process runs, and with ERR_NCLUST_BAD_SELECTOR if several run.
 */
export async function selectWorker(context, words) {
  const { client, targets } = await reachListed(context, words);
  const { slots } = /** @type {{ slots: SlotStatus[] }} */ (await client.request('list', { targets }));
  const living = slots.filter(({ pid }) => pid > 0);
  if (living.length === 1) return { client, worker: living[0] };
  const [word] = words;
  if (living.length === 0) throw noneRuns(word, slots);
  const ids = living.map(({ id, name }) => `${id} (${name})`).join(', ');
  throw new NclustError(
    'ERR_NCLUST_BAD_SELECTOR',
    `"${word}" matches ${living.length} processes, but this command takes only one.`,
    { hint: `Give one of the ids: ${ids}.`, data: { target: word, ids: living.map(({ id }) => id) } },
  );
}

/**
 * @param {string} word
 * @param {SlotStatus[]} slots
 */
function noneRuns(word, slots) {
  const states = new Set(slots.map(({ status }) => (status === 'waiting restart' ? 'waiting for a restart' : status)));
  const [name, ...others] = new Set(slots.map((slot) => slot.name));
  return new NclustError(
    'ERR_NCLUST_NO_PROCESS',
    `No process of "${word}" runs: ${slots.length === 1 ? 'it is' : 'they are'} ${[...states].join(' and ')}.`,
    {
      hint: others.length === 0 ? `nclust why ${name}` : 'nclust list',
      data: { target: word, ids: slots.map(({ id }) => id) },
    },
  );
}
