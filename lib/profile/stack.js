import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { explainUnwritable } from '../cli/session/user-file.js';
import { builtin, withTimeout } from '../shared/debugger.js';

/** @import { Debugger } from '../shared/debugger.js' */
/** @import { Kind, Output } from './output-file.js' */

/**
 * @typedef {{ name: string, file: string, line: number, column: number | null }} Frame  `line` and
 *   `column` count from 1.
 */

/** How long the process may take to reach JavaScript code. */
const PAUSE_MS = 5_000;

// Code of an app may answer in place of the inspector or the agent. So the functions below accept
// any value.

const FRAMES_MAX = 1_000;
const TEXT_MAX_CHARS = 2_000;

/** Limit of scripts whose names are kept. A large app has some thousands. */
const SCRIPTS_MAX = 100_000;

/**
 * Pauses the process.
 * @param {Debugger} inside
 * @returns {Promise<Frame[]>}  The innermost first, asynchronous callers last.
 */
export async function takeStack(inside) {
  /** @type {Map<string, string>} */
  const files = new Map();
  inside.on('Debugger.scriptParsed', ({ scriptId, url }) => {
    if (files.size < SCRIPTS_MAX) files.set(toText(scriptId), toText(url));
  });
  const paused = new Promise((resolve) => inside.on('Debugger.paused', resolve));
  await inside.ask('Debugger.enable', {}, PAUSE_MS);
  await inside.ask('Debugger.pause', {}, PAUSE_MS);
  const { callFrames, asyncStackTrace } = await withTimeout(PAUSE_MS, paused);
  const frames = parseFrames(callFrames).map(({ functionName, location }) => {
    const { scriptId, lineNumber, columnNumber } = Object(location);
    return frame(toText(functionName), files.get(toText(scriptId)) ?? '', { lineNumber, columnNumber });
  });
  for (let trace = Object(asyncStackTrace); trace.callFrames && frames.length < FRAMES_MAX;) {
    for (const { functionName, url, lineNumber, columnNumber } of parseFrames(trace.callFrames))
      frames.push(frame(`async ${toText(functionName)}`, toText(url), { lineNumber, columnNumber }));
    trace = Object(trace.parent);
  }
  return frames.slice(0, FRAMES_MAX);
}

/**
 * @param {unknown} frames
 * @returns {any[]}
 */
function parseFrames(frames) {
  return Array.isArray(frames) ? frames.slice(0, FRAMES_MAX).map(Object) : [];
}

/**
 * @param {any} stack  The answer of an agent.
 * @returns {{ busy: number, frames: Frame[], resources: Record<string, number> }}
 */
export function readAgentStack(stack) {
  const { busy, frames, resources } = Object(stack);
  const counts = Object.entries(Object(resources)).slice(0, FRAMES_MAX);
  return {
    busy: toNumber(busy),
    frames: parseFrames(frames).map(({ name, url, line, column }) => ({
      name: toText(name),
      file: toFilePath(toText(url)),
      line: toNumber(line),
      column: column === null ? null : toNumber(column),
    })),
    resources: Object.fromEntries(counts.map(([name, count]) => [toText(name), toNumber(count)])),
  };
}

/** @param {unknown} value */
function toText(value) {
  return typeof value === 'string' ? value.slice(0, TEXT_MAX_CHARS) : '';
}

/** @param {unknown} value */
function toNumber(value) {
  return typeof value === 'number' ? value : 0;
}

/**
 * @param {string} name
 * @param {string} url
 * @param {{ lineNumber: unknown, columnNumber: unknown }} at  From 0.
 * @returns {Frame}
 */
function frame(name, url, { lineNumber, columnNumber }) {
  return { name, file: toFilePath(url), line: toNumber(lineNumber) + 1, column: toNumber(columnNumber) + 1 };
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
function toFilePath(url) {
  try {
    return url.startsWith('file://') ? fileURLToPath(url) : url;
  } catch {
    return url; // Node.js itself makes no such URL of a file.
  }
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
  output.write(JSON.stringify(Object(profile)));
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
