'use strict';

const { setImmediate, setTimeout } = require('node:timers');

/** @typedef {{ code: string, message: string }} Failure */
/**
 * @typedef {(said: { failure?: Failure, bytes?: number, [key: string]: unknown }) => void} Answer
 */

const HOST = '127.0.0.1';

/**
 * Runs only at the request of a user, because every client of the inspector port can run code in
 * the process.
 * @param {boolean} isOn
 * @returns {{ url?: string, was?: string, refusal?: { code: string, message: string } }}
 *   `url`: the address after this call. `was`: the address before this call. Undefined: the
 *   inspector is not open.
 */
function inspect(isOn) {
  try {
    const inspector = require('node:inspector');
    const was = inspector.url();
    if (isOn && !was) inspector.open(0, HOST);
    if (!isOn && was) inspector.close();
    return { url: inspector.url(), was };
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    return { refusal: { code: code ?? 'EINSPECT', message } };
  }
}

/**
 * @param {{ anyPort: () => void }} question
 * @param {Answer} answer
 */
function closeInspector({ anyPort }, answer) {
  const inspector = require('node:inspector');
  const close = () => {
    if (inspector.url()) inspector.close();
  };
  // Calls close() twice: after SIGUSR1, another thread asks the event loop to open the inspector,
  // and the event loop may open the inspector after the first close().
  close();
  setImmediate(() =>
    setImmediate(() => {
      close();
      anyPort();
      answer({});
    }),
  );
}

const FRAMES_MAX = 100;
const NAME_MAX_CHARS = 1_000;
const NOT_JAVASCRIPT = new Set(['(root)', '(idle)', '(program)', '(garbage collector)']);

/**
 * @param {{ durationMs: number }} question
 * @param {Answer} answer
 */
function sampleStack({ durationMs }, answer) {
  const session = connect('Profiler');
  post(session, 'Profiler.start');
  setTimeout(() => {
    try {
      const { profile: taken } = post(session, 'Profiler.stop');
      session.disconnect();
      answer({ stack: { ...hottest(taken), resources: activeResources() } });
    } catch (error) {
      answer({ failure: describeFailure(error) });
    }
  }, durationMs).unref();
}

/**
 * @returns {Record<string, number>}  Number of resources by name. A list would be long, because a
 *   server may have 100,000 connections.
 */
function activeResources() {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const name of process.getActiveResourcesInfo()) counts.set(name, (counts.get(name) ?? 0) + 1);
  return Object.fromEntries(counts);
}

/** @param {{ nodes: any[], samples: number[] }} taken */
function hottest({ nodes, samples }) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((/** @type {number} */ id) => [id, node])));
  const getPath = (/** @type {any} */ node) => {
    const path = [];
    for (let at = node; at; at = parents.get(at.id)) path.push(at);
    return path.filter(({ callFrame }) => callFrame.functionName !== '(root)');
  };
  const counts = new Map();
  for (const id of samples) counts.set(id, (counts.get(id) ?? 0) + 1);
  let [seen, idle, best, bestCount] = [0, 0, null, 0];
  for (const [id, count] of counts) {
    const node = byId.get(id);
    if (!node || getPath(node).some(({ callFrame }) => /[\\/]agent[\\/]inspector\.cjs$/.test(callFrame.url))) continue;
    seen += count;
    if (node.callFrame.functionName === '(idle)') idle += count;
    if (NOT_JAVASCRIPT.has(node.callFrame.functionName) || count <= bestCount) continue;
    [best, bestCount] = [node, count];
  }
  return {
    samples: seen,
    busy: seen === 0 ? 0 : (seen - idle) / seen,
    frames: best ? getPath(best).slice(0, FRAMES_MAX).map(getFrame) : [],
  };
}

/**
 * The profile has the sampled line only for the innermost frame. Other frames get the line of their
 * function.
 * @param {any} node
 * @param {number} at
 */
function getFrame({ callFrame, positionTicks = [] }, at) {
  const [most] = at === 0 ? [...positionTicks].sort((a, b) => b.ticks - a.ticks) : [];
  const { functionName, lineNumber, columnNumber } = callFrame;
  const name = functionName.slice(0, NAME_MAX_CHARS);
  const url = callFrame.url.slice(0, NAME_MAX_CHARS); // A data: URL contains the whole module.
  return most && most.line !== lineNumber + 1
    ? { name, url, line: most.line, column: null }
    : { name, url, line: lineNumber + 1, column: columnNumber + 1 };
}

/** @param {string} domain */
function connect(domain) {
  // Required here, because some builds of Node.js have no inspector.
  const { Session } = require('node:inspector');
  const session = new Session();
  session.connect();
  post(session, `${domain}.enable`);
  return session;
}

/**
 * Returns the answer, because a session with this process answers before session.post() returns.
 * Throws if the answer is an error.
 * @param {import('node:inspector').Session} session
 * @param {string} method
 * @param {object} [params]
 * @returns {any}
 */
function post(session, method, params = {}) {
  let failure = null;
  let result = null;
  session.post(method, params, (error, said) => {
    failure = error;
    result = said;
  });
  if (failure) throw failure;
  return result;
}

/**
 * @param {unknown} error
 * @returns {Failure}
 */
function describeFailure(error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
  return { code: String(code ?? 'EFAILED'), message: String(message) };
}

module.exports = { inspect, closeInspector, sampleStack, connect, post, describeFailure };
