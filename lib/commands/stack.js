import { toOneLine } from '../render/text.js';
import { NclustError } from '../shared/errors.js';
import { formatDuration } from '../shared/units.js';
import { selectWorker } from './profile.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { Frame } from '../profile/stack.js' */

/**
 * @typedef {object} Stack
 * @property {{ id: number, name: string, slot: number, pid: number }} slot
 * @property {boolean} isHeldUp  The event loop of the process is blocked.
 * @property {boolean} wasHeldUp  The loop was blocked, but the process answered a second request.
 *   The other values are from this answer.
 * @property {number | null} busy  The busy share of the event loop, 0 to 1. Null if the loop is
 *   blocked.
 * @property {number} durationMs  0: `frames` shows one moment.
 * @property {Frame[]} frames  The innermost frame first. If the loop is blocked, the call stack of
 *   one moment. Otherwise the most frequent call stack.
 * @property {Record<string, number>} resources  The number of handles and requests that keep the
 *   process alive, by Node's name. Empty if the loop is blocked.
 */

const LOOK_MS = 200;

/**
 * @param {Context} context
 * @param {string[]} words
 * @param {Record<string, any>} options
 * @returns {Promise<Stack>}
 */
export async function stack(context, words, { json }) {
  const { client, worker } = await selectWorker(context, words);
  const look = () => client.request('stack', { target: String(worker.id), durationMs: LOOK_MS });
  const { slot, stack: seen } = await look();
  const { readAgentStack, isOfApp, takeStack } = await import('../profile/stack.js');
  /**
   * @param {any} answer
   * @param {boolean} wasHeldUp
   * @returns {Stack}
   */
  const turning = (answer, wasHeldUp) => ({
    slot,
    isHeldUp: false,
    wasHeldUp,
    durationMs: LOOK_MS,
    ...readAgentStack(answer),
  });
  if (seen) return turning(seen, false);

  const { openInspector } = await import('../profile/break-in.js');
  const { frames, failure } = await orNoReply(
    openInspector(json ? { ...context, printMessage: () => {} } : context, client, worker, takeStack),
  );
  if (!frames.some(isOfApp)) {
    // Asks the worker again, because the block may have ended. Or a turn of the loop never ends,
    // for example because of process.nextTick(). Only the worker can report such a turn.
    const { stack: now } = await look();
    if (now) return turning(now, true);
    if (failure) throw failure;
  }
  return { slot, isHeldUp: true, wasHeldUp: false, busy: null, durationMs: 0, frames, resources: {} };
}

/**
 * @param {Promise<Frame[]>} look
 * @returns {Promise<{ frames: Frame[], failure: NclustError | null }>}
 */
async function orNoReply(look) {
  try {
    return { frames: await look, failure: null };
  } catch (error) {
    if (error instanceof NclustError && error.code === 'ERR_NCLUST_NO_REPLY') return { frames: [], failure: error };
    throw error;
  }
}

const BUSY_MIN = 0.02;

/** @param {Stack} data */
export function renderStack({ slot: { id, name, pid }, isHeldUp, wasHeldUp, busy, durationMs, frames, resources }) {
  const who = `"${toOneLine(name)}" (id ${id}, pid ${pid})`;
  const lines = frames.map(frameLine);
  if (isHeldUp) return text([`${who} does not return to its event loop:`, ...lines]);
  if (wasHeldUp)
    return text([
      `${who} was blocked until now, and runs again: it was in a system call, in native code, or in ` +
        `JavaScript that has just finished.`,
    ]);
  const share = `${Math.round((busy ?? 0) * 100)}% of the last ${formatDuration(durationMs)}`;
  if ((busy ?? 0) < BUSY_MIN)
    return text([`${who} runs no JavaScript now: it is idle, and waits for events.`, ...describeResources(resources)]);
  if (lines.length === 0)
    return text([`${who} was busy for ${share}, in native code.`, ...describeResources(resources)]);
  return text([`${who} was busy for ${share}, most often here (its event loop is not blocked):`, ...lines]);
}

/** @param {Stack['frames'][number]} frame */
function frameLine({ name, file, line, column }) {
  const place = `${toOneLine(file) || '<anonymous>'}:${line}${column === null ? '' : `:${column}`}`;
  return name ? `    at ${toOneLine(name)} (${place})` : `    at ${place}`;
}

/**
 * A listening socket from the manager has the same name as a connection.
 * @type {Map<string, string>}
 */
const NOTES = new Map([['TCPSocketWrap', ' (connections, or sockets that listen)']]);

/** @param {Record<string, number>} resources */
function describeResources(resources) {
  const named = Object.entries(resources).map(
    ([one, count]) => `${count > 1 ? `${count} ` : ''}${toOneLine(one)}${NOTES.get(one) ?? ''}`,
  );
  if (named.length === 0) return [];
  return [`Resources that keep it alive, by Node's names: ${named.join(', ')}`];
}

/** @param {string[]} lines */
function text(lines) {
  return lines.map((line) => `${line}\n`).join('');
}
