import { fileURLToPath } from 'node:url';
import { within } from './debugger.js';

/** @typedef {{name: string, file: string, line: number, column: number|null}} Frame  `line` and `column` count from 1. */

/** How long it may take to a line of JavaScript, in ms. */
const PAUSE_MS = 5_000;

/**
 * What a process runs at this moment. It stands still meanwhile.
 * @param {import('./debugger.js').Debugger} inside
 * @returns {Promise<Frame[]>}  The innermost first, then, when it is known, what the innermost asynchronous call was made by. Rejects with a SilentProcess.
 */
export async function stackOf(inside) {
  /** @type {Map<string, string>} */
  const files = new Map();
  inside.on('Debugger.scriptParsed', ({ scriptId, url }) => files.set(scriptId, url));
  const paused = new Promise((resolve) => inside.on('Debugger.paused', resolve));
  await inside.ask('Debugger.enable', {}, PAUSE_MS);
  await inside.ask('Debugger.pause', {}, PAUSE_MS);
  const { callFrames, asyncStackTrace } = await within(PAUSE_MS, paused);
  return [
    ...callFrames.map((/** @type {any} */ { functionName, location }) => frame(functionName, files.get(location.scriptId) ?? '', location)),
    ...asyncFrames(asyncStackTrace),
  ];
}

/**
 * @param {any} trace
 * @returns {Frame[]}
 */
function asyncFrames(trace) {
  if (!trace) return [];
  return [...trace.callFrames.map((/** @type {any} */ { functionName, url, lineNumber, columnNumber }) => frame(`async ${functionName}`, url, { lineNumber, columnNumber })), ...asyncFrames(trace.parent)];
}

/**
 * @param {string} name
 * @param {string} url
 * @param {{lineNumber: number, columnNumber?: number}} at  From 0.
 * @returns {Frame}
 */
function frame(name, url, { lineNumber, columnNumber = 0 }) {
  return { name, file: fileOf(url), line: lineNumber + 1, column: columnNumber + 1 };
}

/**
 * Whether it is no code of Node itself, nor of what nclust preloads. A debugger that comes in when a worker is through with what held it up sees only these.
 * @param {Frame} frame
 */
export function isOfApp({ file }) {
  return !file.startsWith('node:') && !/[\\/]daemon[\\/]agent[\\/][\w-]+\.cjs$/.test(file);
}

/** @param {string} url */
export function fileOf(url) {
  return url.startsWith('file://') ? fileURLToPath(url) : url;
}
