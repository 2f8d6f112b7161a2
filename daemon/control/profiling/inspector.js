import { hasSignal } from '../../../lib/shared/daemon/home-processes.js';
import { withDeadline } from '../../../lib/shared/deadline.js';
import { NclustError } from '../../../lib/shared/errors.js';
import { ask } from '../app-channel/ask-process.js';
import { describeSlot, findWorker } from './worker.js';

/** @import { ApiContext, Client } from '../context.js' */
/** @import { Worker } from './worker.js' */

/** @typedef {Pick<ApiContext, 'control' | 'parts'>} InspectorContext */

/** How long Node.js may take to open its inspector after the signal, on a busy machine. */
const OPEN_MS = 5_000;

/** How long control waits for the event loop, to close the inspector that opens once more. */
const TURN_MS = 1_800_000;

/**
 * Opens the inspector for a client. After the client has sent `isOver` or disconnected, the worker
 * closes the inspector as soon as its event loop runs.
 * @param {InspectorContext} context
 * @param {{ target: string, isOver: boolean }} question
 * @param {Pick<Client, 'subscriptions' | 'signal'>} client
 * @returns {Promise<object>}
 */
export async function openInspector(context, { target, isOver }, { subscriptions, signal }) {
  const worker = findWorker(context, target);
  const subscription = `break-in-${worker.id}`;
  if (isOver) {
    subscriptions.get(subscription)?.();
    subscriptions.delete(subscription);
    return { slot: describeSlot(worker), url: null };
  }
  const { url, end } = await openBySignal(context, worker);
  if (signal.aborted) end();
  else subscriptions.set(subscription, end);
  return { slot: describeSlot(worker), url };
}

/**
 * Opens the inspector even if the event loop is blocked, because Node.js handles SIGUSR1 in another
 * thread. Node.js prints the address on stderr. Control takes these lines out of the log of the
 * app.
 * @param {InspectorContext} context
 * @param {Worker} worker
 * @param {{ isForBlock?: boolean }} [o]  `isForBlock`: the agent is asked at once to close it when the
 *   event loop runs, so that it does so even if control dies before.
 * @returns {Promise<{ url: string | null, seq: unknown, end: () => void }>}  `url` null: Node.js does
 *   not open it, because it runs native code, or because it is already open. `seq`: of the last
 *   report before. Rejects with an NclustError.
 */
export async function openBySignal(context, worker, { isForBlock = false } = {}) {
  const { parts } = context;
  const { instance } = worker;
  const { instanceId } = instance;
  assertCatchesSignal(worker);
  const seq = await assertNoOwnHandler(context, worker);
  // While the inspector is open, Node.js ignores the signal, and prints no address.
  if (instance.breakIn) await withDeadline(OPEN_MS, instance.breakIn, () => {}, parts.clock.after);
  let release = () => {};
  instance.breakIn = new Promise((resolve) => {
    release = () => resolve(undefined);
  });
  let isOpen = false;
  /** @type {(url: string) => void} */
  let onUrl = () => {};
  /** @type {Promise<string>} */
  const opened = new Promise((resolve) => {
    onUrl = resolve;
  });
  const showLines = parts.logs.hideInspector(instanceId, (url) => {
    isOpen = true;
    onUrl(url);
  });

  const shut = () => ask(context, worker, 'profile', { question: { step: 'shut' } }, TURN_MS);
  /** @type {Promise<unknown> | null} */
  let closed = null;

  /** The signal opens the inspector once more when the event loop runs. So the agent closes it. */
  async function close() {
    if (!closed && !isOpen) await ask(context, worker, 'ping', {}, TURN_MS);
    parts.logs.drain(instanceId);
    if (closed ?? isOpen) await (closed ?? shut());
    parts.logs.drain(instanceId);
  }
  // Ignores errors: the worker has exited, reads this later, or is replaced with its keeper.
  const end = () => {
    instance.breakIn = undefined;
    release();
    void close()
      .catch(() => {})
      .finally(showLines);
  };

  try {
    await ask(context, worker, 'signal', { signal: 'SIGUSR1' });
  } catch (error) {
    end();
    throw error;
  }
  if (isForBlock) {
    closed = shut();
    closed.catch(() => {}); // close() waits for it, and explains why it ignores errors.
  }
  return { seq, url: await withDeadline(OPEN_MS, opened, () => null, parts.clock.after), end };
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
 * @param {InspectorContext} context
 * @param {Worker} worker
 */
async function assertNoOwnHandler(context, worker) {
  const { ownsUsr1, seq } = await readReport(context, worker);
  if (!ownsUsr1) return seq;
  throw refusal(
    worker,
    'does not answer, and handles SIGUSR1 itself, so a debugger cannot attach',
    `gdb -p ${worker.instance.pid}`,
  );
}

/**
 * @param {InspectorContext} context
 * @param {Worker} worker
 * @returns {Promise<{ ownsUsr1?: boolean, seq?: number }>}  The last one.
 */
export async function readReport(context, worker) {
  const { reports } = await ask(context, worker, 'reports', {});
  return reports[worker.instance.instanceId] ?? {};
}

/**
 * @param {Worker} worker
 * @param {string} what
 * @param {string} hint
 */
function refusal({ id, name }, what, hint) {
  return new NclustError('ERR_NCLUST_NOT_REACHABLE', `"${name}" (id ${id}) ${what}.`, { hint, data: { id, name } });
}
