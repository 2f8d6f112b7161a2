import { rejectOnAbort } from '../shared/deadline.js';
import { openDebugger, SilentProcess } from '../shared/debugger.js';
import { NclustError } from '../shared/errors.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { Client } from '../client/client.js' */
/** @import { SlotStatus } from '../shared/wire/protocol.js' */
/** @import { Debugger } from '../shared/debugger.js' */

/**
 * Opens the inspector of a process whose event loop is blocked, and closes it afterwards.
 * @template T
 * @param {Context} context
 * @param {Client} client
 * @param {Pick<SlotStatus, 'id' | 'name' | 'pid'>} worker
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
    const { url } = await client.request('openInspector', { target }, { signal: interrupt.signal });
    if (typeof url !== 'string') throw silent(worker);
    const inside = await openDebugger(url);
    try {
      interrupt.signal.throwIfAborted();
      return await Promise.race([look(inside, interrupt.signal), rejectOnAbort(interrupt.signal)]);
    } finally {
      await inside.shut();
      await client.request('openInspector', { target, isOver: true });
    }
  } catch (error) {
    throw explain(error, worker);
  } finally {
    release();
  }
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
      `debugger, or its debugger is already open.`,
    {
      hint: `To see what it waits for: cat /proc/${pid}/wchan, or gdb -p ${pid}`,
      data: { id, name },
    },
  );
}
