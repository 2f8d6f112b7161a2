import { setTimeout as pause } from 'node:timers/promises';
import { rejectOnAbort } from '../shared/deadline.js';
import { NclustError } from '../shared/errors.js';
import { listeningPorts, openDebugger, SilentProcess } from './debugger.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { Client } from '../client/client.js' */
/** @import { SlotStatus } from '../shared/wire/protocol.js' */
/** @import { Debugger } from './debugger.js' */

const LOOK_EVERY_MS = 10;

/** How long Node.js may take to open its inspector after the signal, on a busy machine. */
const OPEN_MS = 5_000;
const ANSWER_MS = 2_000;

/**
 * Opens the inspector of a process whose event loop is blocked. Closes the inspector afterwards,
 * unless it was already open.
 * @template T
 * @param {Context} context
 * @param {Client} client
 * @param {Pick<SlotStatus, 'id' | 'name' | 'pid' | 'addresses'>} worker
 * @param {(inside: Debugger, signal: AbortSignal) => Promise<T>} look  `signal` aborts at Ctrl-C.
 * @returns {Promise<T>}
 */
export async function openInspector({ onInterrupt, printMessage }, client, worker, look) {
  printMessage(
    `"${worker.name}" (id ${worker.id}) does not answer, because its event loop is blocked. nclust attaches ` +
      `a debugger, through a port of 127.0.0.1 that is closed afterwards.`,
  );
  const interrupt = new AbortController();
  const release = onInterrupt(() =>
    interrupt.abort(
      new NclustError(
        'ERR_NCLUST_INTERRUPTED',
        `Interrupted: nothing was read from "${worker.name}" (id ${worker.id}).`,
      ),
    ),
  );
  const target = String(worker.id);
  try {
    const before = listeningPorts(worker.pid);
    await client.request('openInspector', { target });
    const { url, wasOpen } = await findInspector(worker, before, interrupt.signal);
    if (wasOpen) await client.request('openInspector', { target, isLeftOpen: true });
    const inside = await openDebugger(url);
    try {
      interrupt.signal.throwIfAborted();
      return await Promise.race([look(inside, interrupt.signal), rejectOnAbort(interrupt.signal)]);
    } finally {
      if (wasOpen) inside.leave();
      else await inside.shut();
      if (!wasOpen) await client.request('openInspector', { target, isOver: true });
    }
  } catch (error) {
    throw explain(error, worker);
  } finally {
    release();
  }
}

/**
 * @param {Pick<SlotStatus, 'id' | 'name' | 'pid' | 'addresses'>} worker
 * @param {Map<string, number>} before
 * @param {AbortSignal} signal
 */
async function findInspector({ pid, name, id, addresses }, before, signal) {
  const endMono = performance.now() + OPEN_MS;
  while (performance.now() < endMono) {
    for (const [inode, port] of listeningPorts(pid)) {
      const url = before.has(inode) ? null : await queryInspector(port);
      if (url) return { url, wasOpen: false };
    }
    await pause(LOOK_EVERY_MS, undefined, { signal });
  }
  // If the inspector is already open, Node.js ignores the signal. So this function also tries the
  // ports that were open before the signal.
  const ofTheApp = new Set(addresses.map(({ port }) => port));
  for (const port of before.values()) {
    const url = ofTheApp.has(port) ? null : await queryInspector(port);
    if (url) return { url, wasOpen: true };
  }
  throw silent({ id, name, pid });
}

/** @param {number} port */
async function queryInspector(port) {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/json/list`, {
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const [first] = JSON.parse(await readText(response));
    const id = INSPECTOR_ID.exec(first.webSocketDebuggerUrl)?.[1];
    // Only the id counts. An app may answer here, and name the inspector of another process.
    return id === undefined ? null : `ws://127.0.0.1:${port}/${id}`;
  } catch {
    return null; // The port belongs to another server, or the answer took too long.
  }
}

const INSPECTOR_ID = /^ws:\/\/[^/]+\/([\w-]{1,100})$/;

const LIST_MAX_BYTES = 64 * 1024;

/** @param {Response} response */
async function readText({ body }) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of /** @type {AsyncIterable<Uint8Array>} */ (/** @type {unknown} */ (body))) {
    bytes += chunk.length;
    if (bytes > LIST_MAX_BYTES) throw new Error('the answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/**
 * @param {unknown} error
 * @param {Pick<SlotStatus, 'id' | 'name' | 'pid'>} worker
 */
function explain(error, { id, name, pid }) {
  if (error instanceof NclustError) return error;
  const who = `"${name}" (id ${id})`;
  const { name: kind, message, cause } = /** @type {Error} */ (error);
  if (kind === 'AbortError' && cause instanceof NclustError) return cause;
  if (!(error instanceof SilentProcess))
    return new NclustError('ERR_NCLUST_NOT_REACHABLE', `The debugger of ${who} failed: ${message}.`, {
      hint: 'nclust list',
      data: { id, name },
    });
  return silent({ id, name, pid });
}

/**
 * The error for a process that does not open its inspector, or does not answer the debugger.
 * @param {Pick<SlotStatus, 'id' | 'name' | 'pid'>} worker
 */
function silent({ id, name, pid }) {
  return new NclustError(
    'ERR_NCLUST_NO_REPLY',
    `"${name}" (id ${id}) does not answer its debugger. Either it is inside a system call or native code, ` +
      `such as execSync() or Atomics.wait(), or it handles SIGUSR1 itself, so that Node.js does not open the ` +
      `debugger.`,
    {
      hint: `To see what it waits for: cat /proc/${pid}/wchan, or gdb -p ${pid}`,
      data: { id, name },
    },
  );
}
