import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { explainUnwritable } from '../cli/session/user-file.js';
import { builtin, withTimeout } from './debugger.js';

/** @import { Debugger } from './debugger.js' */
/** @import { Kind, Output } from './output-file.js' */

/**
 * @typedef {{ name: string, file: string, line: number, column: number | null }} Frame  `line` and
 *   `column` count from 1.
 */

/** How long the process may take to reach JavaScript code. */
const PAUSE_MS = 5_000;

/**
 * Pauses the process.
 * @param {Debugger} inside
 * @returns {Promise<Frame[]>}  The innermost first, asynchronous callers last.
 */
export async function takeStack(inside) {
  /** @type {Map<string, string>} */
  const files = new Map();
  inside.on('Debugger.scriptParsed', ({ scriptId, url }) => files.set(scriptId, url));
  const paused = new Promise((resolve) => inside.on('Debugger.paused', resolve));
  await inside.ask('Debugger.enable', {}, PAUSE_MS);
  await inside.ask('Debugger.pause', {}, PAUSE_MS);
  const { callFrames, asyncStackTrace } = await withTimeout(PAUSE_MS, paused);
  return [
    ...callFrames.map((/** @type {any} */ { functionName, location }) =>
      frame(functionName, files.get(location.scriptId) ?? '', location),
    ),
    ...asyncFrames(asyncStackTrace),
  ];
}

/**
 * @param {any} trace
 * @returns {Frame[]}
 */
function asyncFrames(trace) {
  if (!trace) return [];
  return [
    ...trace.callFrames.map((/** @type {any} */ { functionName, url, lineNumber, columnNumber }) =>
      frame(`async ${functionName}`, url, { lineNumber, columnNumber }),
    ),
    ...asyncFrames(trace.parent),
  ];
}

/**
 * @param {string} name
 * @param {string} url
 * @param {{ lineNumber: number, columnNumber?: number }} at  From 0.
 * @returns {Frame}
 */
function frame(name, url, { lineNumber, columnNumber = 0 }) {
  return { name, file: toFilePath(url), line: lineNumber + 1, column: columnNumber + 1 };
}

/**
 * Whether the frame belongs to the app. If no frame of a stack belongs to the app, the process was
 * no longer blocked when the debugger paused it.
 * @param {Frame} frame
 */
export function isOfApp({ file }) {
  return !file.startsWith('node:') && !/[\\/]daemon[\\/]agent[\\/][\w-]+\.cjs$/.test(file);
}

/** @param {string} url */
export function toFilePath(url) {
  return url.startsWith('file://') ? fileURLToPath(url) : url;
}

const BEGIN_MS = 15_000;
/** Time limit to stop a profile. It is long, because the answer contains the whole profile. */
const END_MS = 60_000;
const SNAPSHOT_MS = 1_800_000;

/**
 * @param {Debugger} inside
 * @param {object} o
 * @param {Kind} o.kind
 * @param {number} o.durationMs
 * @param {Output} o.output
 * @param {AbortSignal} o.signal
 * @returns {Promise<void>}
 */
export async function takeInside(inside, { kind, durationMs, output, signal }) {
  if (kind.word === 'heap') return snapshot(inside, output.writable);
  await inside.ask(`${kind.domain}.enable`, {}, BEGIN_MS);
  await inside.ask(`${kind.domain}.${kind.start}`, {}, BEGIN_MS);
  await pause(durationMs, undefined, { signal });
  const { profile } = await inside.ask(`${kind.domain}.${kind.stop}`, {}, END_MS);
  output.write(JSON.stringify(profile));
}

/**
 * Does not use HeapProfiler.takeHeapSnapshot, because since Node.js 22 this method waits for the
 * event loop, which is blocked.
 * @param {Debugger} inside
 * @param {string} file
 */
async function snapshot(inside, file) {
  const expression = `${builtin('node:v8')}.writeHeapSnapshot(${JSON.stringify(file)})`;
  const { exceptionDetails } = await inside.ask(
    'Runtime.evaluate',
    { expression, includeCommandLineAPI: true },
    SNAPSHOT_MS,
  );
  if (!exceptionDetails) return;
  const description = String(exceptionDetails.exception?.description ?? exceptionDetails.text);
  const [message] = description.split('\n');
  explainUnwritable(file, () => {
    throw Object.assign(new Error(message), { code: /\bE[A-Z]{3,}\b/.exec(message)?.[0] ?? 'EFAILED' });
  });
}
