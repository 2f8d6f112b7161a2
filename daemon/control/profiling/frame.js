import { HOSTILE } from '../../../lib/shared/daemon/json-line.js';
import { openDebugger } from '../../../lib/shared/debugger.js';
import { findErrorLine } from '../../../lib/shared/logs/error-line.js';
import { findApp } from '../state/desired.js';
import { openBySignal, readReport } from './inspector.js';
import { findWorker } from './worker.js';

/** @import { InspectorContext } from './inspector.js' */

const FRAMES_MAX = 20;
const FRAME_MAX_CHARS = 200;

const ANSWER_MAX_BYTES = 256 * 1024;
const ANSWER_MS = 1_000;

/**
 * Reads the stack without a pause of the debugger: the worker runs this between two of its own
 * instructions. A function of the app that formats stacks may be slow, so it is put aside.
 */
const READ_STACK = `(() => {
  const before = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace');
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = ${FRAMES_MAX + 2};
  Error.prepareStackTrace = (_, sites) => sites.join('\\n');
  try {
    return new Error().stack;
  } finally {
    Error.stackTraceLimit = limit;
    if (before) Object.defineProperty(Error, 'prepareStackTrace', before);
    else delete Error.prepareStackTrace;
  }
})()`;

/** The frames of READ_STACK itself. */
const OWN_FRAME = /^<anonymous>:|^(?:\S+ )?\(?<anonymous>:\d+:\d+\)?$/;

/**
 * Finds the code that blocks the event loop of a worker. Opens its inspector only if no other user
 * of the machine can learn the address.
 * @param {InspectorContext} context
 * @param {string} target
 * @param {string} instanceId
 * @returns {Promise<{ where: string | null, stack: string[] } | 'turned' | null>}
 *   `where`: the innermost frame of the app. turned: the block was over before. Null: nclust does
 *   not look into this worker, or the worker runs no code of its own. Rejects with an error that
 *   gives the reason.
 */
export async function takeFrame(context, target, instanceId) {
  const worker = findWorker(context, target);
  if (worker.instance.instanceId !== instanceId) return 'turned';
  const { label, snapshots = 0, breakIn, errPipe } = worker.instance;
  if (!label.hasSecretInspector || snapshots > 0 || breakIn || errPipe === null) return null;
  const { url, seq, end } = await openBySignal(context, worker, { isForBlock: true });
  try {
    if (url === null) throw new Error('Node.js did not open its inspector');
    const stack = await readStack(url);
    // The stack may be that of the work after the block.
    if ((await readReport(context, worker)).seq !== seq) return 'turned';
    const cwd = findApp(context.control.registry.desired, worker.name)?.spec.cwd ?? null;
    const { frame: where = null } =
      findErrorLine(['Error: blocked', ...stack.map((one) => `    at ${one}`)], cwd) ?? {};
    return stack.length === 0 ? null : { where, stack };
  } finally {
    end();
  }
}

/**
 * @param {string} url
 * @returns {Promise<string[]>}  The innermost frame first. Empty: only code of Node.js runs.
 */
async function readStack(url) {
  const inside = await openDebugger(url, ANSWER_MAX_BYTES);
  try {
    const { result } = await inside.ask('Runtime.evaluate', { expression: READ_STACK }, ANSWER_MS);
    const frames = String(result?.value ?? '')
      .split('\n')
      .filter((line) => line !== '' && !OWN_FRAME.test(line))
      .slice(0, FRAMES_MAX)
      .map((line) => line.replace(HOSTILE, '?').slice(0, FRAME_MAX_CHARS));
    return frames.every((line) => /^(?:.* \()?node:/.test(line)) ? [] : frames;
  } finally {
    await inside.shut();
  }
}
