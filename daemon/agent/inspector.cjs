// What a process does with its time and its memory, for whoever asks: it writes a profile of itself
// into a file, or looks for a moment at its own stack.
'use strict';

const fs = require('node:fs');
// Not those of the app: a DOM's are numbers.
const { clearTimeout, setImmediate, setTimeout } = require('node:timers');
const { tryTo } = require('./isolation.cjs');

/** @typedef {{ code: string, message: string }} Failure */
/**
 * @typedef {(said: { failure?: Failure, bytes?: number, [key: string]: unknown }) => void} Answer
 */

/**
 * @typedef {object} Run
 * @property {string} kind
 * @property {string} file  Made by whoever asks, and empty. It names the run: a control that came
 *   later asks for the same one.
 * @property {number | null} fd  Of the file. null: it is closed, and the number may be one of the
 *   app's own files.
 * @property {{ failure?: Failure, bytes?: number } | null} outcome
 * @property {Answer[]} waiting
 * @property {() => void} giveUp  Ends what has begun of it. Idempotent.
 */

/** What is taken over a span of time. */
const SPANS = {
  cpu: { domain: 'Profiler', start: 'Profiler.start', stop: 'Profiler.stop' },
  'heap-sampling': { domain: 'HeapProfiler', start: 'HeapProfiler.startSampling', stop: 'HeapProfiler.stopSampling' },
};

/** A long profile looks less often: what it holds in memory has a bound. */
const SAMPLES_MAX = 100_000;
const SAMPLE_EVERY_US = 1_000;
const FRAMES_MAX = 100;
/** Frames that are no function, as V8 names them. */
const NOT_JAVASCRIPT = new Set(['(root)', '(idle)', '(program)', '(garbage collector)']);

/** The one that is under way, or the last. @type {Run | null} */
let run = null;

/** @type {Record<string, (question: any, answer: Answer) => void>} */
const STEPS = { begin, end, drop, stack, shut };

/**
 * @param {{ step: string, [key: string]: unknown }} question
 * @param {Answer} answer  Called once.
 */
function profile({ step, ...question }, answer) {
  try {
    STEPS[step](question, answer);
  } catch (error) {
    answer({ failure: failureOf(error) });
  }
}

/**
 * @param {{ kind: string, file: string, durationMs: number }} question
 * @param {Answer} answer
 */
function begin({ kind, file, durationMs }, answer) {
  if (run?.file === file) return answer({});
  if (run && !run.outcome) return answer({ failure: { code: 'EBUSY', message: run.kind } });
  /** @type {Run} */
  const mine = { kind, file, fd: openEmpty(file), outcome: null, waiting: [], giveUp: () => {} };
  run = mine;
  try {
    if (kind === 'heap') snapshot(mine);
    else span(mine, kind === 'cpu' ? SPANS.cpu : SPANS['heap-sampling'], durationMs);
  } catch (error) {
    run = null;
    close(mine);
    mine.giveUp();
    throw error;
  }
  answer({});
}

/**
 * Answers when the file is written.
 * @param {{ file: string }} question
 * @param {Answer} answer
 */
function end({ file }, answer) {
  if (run?.file !== file) return answer({ failure: { code: 'EGIVENUP', message: 'it was given up' } });
  if (run.outcome) answer(run.outcome);
  else run.waiting.push(answer);
}

/**
 * Nobody waits for it any more.
 * @param {{ file: string }} question
 * @param {Answer} answer
 */
function drop({ file }, answer) {
  if (run?.file === file) {
    const { giveUp } = run;
    giveUp();
    run = null;
    fs.rmSync(file, { force: true });
  }
  answer({});
}

/** @param {string} file */
function openEmpty(file) {
  const fd = fs.openSync(file, fs.constants.O_WRONLY | fs.constants.O_NOFOLLOW);
  const stat = fs.fstatSync(fd);
  if (stat.isFile() && stat.size === 0) return fd;
  fs.closeSync(fd);
  throw Object.assign(new Error(`"${file}" is no empty file`), { code: 'EEXIST' });
}

/**
 * @param {Run} mine
 * @param {typeof SPANS.cpu} kind
 * @param {number} durationMs
 */
function span(mine, { domain, start, stop }, durationMs) {
  const session = connect(domain);
  let timer = /** @type {NodeJS.Timeout | undefined} */ (undefined);
  let isOver = false;
  /**
   * Only the first one comes about: by the second the file is closed.
   * @param {() => void} how
   */
  const ending = (how) => () => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    how();
  };
  mine.giveUp = ending(() => {
    session.disconnect();
    close(mine);
    conclude(mine, { failure: { code: 'EGIVENUP', message: 'it was given up' } });
  });
  if (start === SPANS.cpu.start)
    post(session, 'Profiler.setSamplingInterval', {
      interval: Math.max(SAMPLE_EVERY_US, Math.ceil((durationMs * 1_000) / SAMPLES_MAX)),
    });
  post(session, start);
  timer = setTimeout(
    ending(() => {
      try {
        const { profile: taken } = post(session, stop);
        session.disconnect();
        write(mine, JSON.stringify(taken));
      } catch (error) {
        close(mine);
        conclude(mine, { failure: failureOf(error) });
      }
    }),
    durationMs,
  );
  timer.unref();
}

/**
 * Whoever asked hears that it begins, before nothing of this process answers any more.
 * @param {Run} mine
 */
function snapshot(mine) {
  setImmediate(() => {
    const { fd } = mine;
    if (run !== mine || fd === null) return close(mine);
    try {
      // A stream of it would hold the whole text in memory on Node 20 and 22.
      require('node:v8').writeHeapSnapshot(mine.file);
      conclude(mine, { bytes: fs.fstatSync(fd).size });
    } catch (error) {
      // Node leaves its file open when the disk is full, which holds the room of a file that is
      // removed.
      tryTo(() => fs.ftruncateSync(fd, 0));
      conclude(mine, { failure: failureOf(error) });
    } finally {
      close(mine);
    }
  });
}

/**
 * @param {Run} mine
 * @param {string} text
 */
function write(mine, text) {
  if (mine.fd === null) return;
  fs.writeFile(mine.fd, text, (error) => {
    close(mine);
    conclude(mine, error ? { failure: failureOf(error) } : { bytes: Buffer.byteLength(text) });
  });
}

/**
 * @param {Run} mine
 * @param {NonNullable<Run['outcome']>} outcome
 */
function conclude(mine, outcome) {
  mine.outcome = outcome;
  for (const answer of mine.waiting.splice(0)) tryTo(() => answer(outcome));
}

/**
 * Once.
 * @param {Run} mine
 */
function close(mine) {
  if (mine.fd !== null) fs.close(mine.fd, () => {});
  mine.fd = null;
}

/**
 * @param {{ durationMs: number }} question
 * @param {Answer} answer
 */
function stack({ durationMs }, answer) {
  const session = connect('Profiler');
  post(session, 'Profiler.start');
  setTimeout(() => {
    try {
      const { profile: taken } = post(session, 'Profiler.stop');
      session.disconnect();
      answer({ stack: { ...hottest(taken), resources: process.getActiveResourcesInfo() } });
    } catch (error) {
      answer({ failure: failureOf(error) });
    }
  }, durationMs).unref();
}

/**
 * Where it was seen most often, and how often it was seen running at all.
 * @param {{ nodes: any[], samples: number[] }} taken
 */
function hottest({ nodes, samples }) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((/** @type {number} */ id) => [id, node])));
  const pathOf = (/** @type {any} */ node) => {
    const path = [];
    for (let at = node; at; at = parents.get(at.id)) path.push(at);
    return path.filter(({ callFrame }) => callFrame.functionName !== '(root)');
  };
  const counts = new Map();
  for (const id of samples) counts.set(id, (counts.get(id) ?? 0) + 1);
  let [seen, idle, best, bestCount] = [0, 0, null, 0];
  for (const [id, count] of counts) {
    const node = byId.get(id);
    if (!node || pathOf(node).some(({ callFrame }) => /[\\/]agent[\\/]profile\.cjs$/.test(callFrame.url))) continue;
    seen += count;
    if (node.callFrame.functionName === '(idle)') idle += count;
    if (NOT_JAVASCRIPT.has(node.callFrame.functionName) || count <= bestCount) continue;
    [best, bestCount] = [node, count];
  }
  return {
    samples: seen,
    busy: seen === 0 ? 0 : (seen - idle) / seen,
    frames: best ? pathOf(best).slice(0, FRAMES_MAX).map(frameOf) : [],
  };
}

/**
 * Of the innermost function the line that was seen most often is known, of the others where they
 * begin.
 * @param {any} node
 * @param {number} at
 */
function frameOf({ callFrame, positionTicks = [] }, at) {
  const [most] = at === 0 ? [...positionTicks].sort((a, b) => b.ticks - a.ticks) : [];
  const { functionName: name, url, lineNumber, columnNumber } = callFrame;
  return most && most.line !== lineNumber + 1
    ? { name, url, line: most.line, column: null }
    : { name, url, line: lineNumber + 1, column: columnNumber + 1 };
}

/**
 * After a debugger came in by the signal.
 * @param {{ anyPort: () => void }} question
 * @param {Answer} answer
 */
function shut({ anyPort }, answer) {
  const inspector = require('node:inspector');
  const close = () => {
    if (inspector.url()) inspector.close();
  };
  // Node opens the inspector from the thread that takes the signal, and once more from the loop,
  // which may read that after this question.
  close();
  setImmediate(() =>
    setImmediate(() => {
      close();
      anyPort();
      answer({});
    }),
  );
}

/** @param {string} domain */
function connect(domain) {
  // Not every Node was built with one.
  const { Session } = require('node:inspector');
  const session = new Session();
  session.connect();
  post(session, `${domain}.enable`);
  return session;
}

/**
 * A session of a process to itself answers before post() returns.
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
function failureOf(error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
  return { code: String(code ?? 'EFAILED'), message: String(message) };
}

// The inspector of a process that was started without one. Only when somebody asks: whoever reaches
// its port can run code in the process.

const HOST = '127.0.0.1';

/**
 * @param {boolean} isOn
 * @returns {{ url?: string, was?: string, refusal?: { code: string, message: string } }}  `was`:
 *   where it listened before.
 */
function inspect(isOn) {
  try {
    const inspector = require('node:inspector');
    const was = inspector.url();
    // Each process gets a port that is free.
    if (isOn && !was) inspector.open(0, HOST);
    if (!isOn && was) inspector.close();
    return { url: inspector.url(), was };
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    return { refusal: { code: code ?? 'EINSPECT', message } };
  }
}

module.exports = { profile, inspect };
