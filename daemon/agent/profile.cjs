'use strict';

const fs = require('node:fs');
const { clearTimeout, setImmediate, setTimeout } = require('node:timers');
const { closeInspector, connect, describeFailure, post, sampleStack } = require('./inspector.cjs');
const { tryTo } = require('./isolation.cjs');

/** @import { Answer, Failure } from './inspector.cjs' */

/**
 * @typedef {object} Run
 * @property {string} kind
 * @property {string} file  An empty file that the client made. The path identifies the run, even
 *   after a restart of control.
 * @property {number | null} fd
 * @property {{ failure?: Failure, bytes?: number } | null} outcome
 * @property {Answer[]} waiting
 * @property {() => void} giveUp  Idempotent.
 */

const SPANS = {
  cpu: { domain: 'Profiler', start: 'Profiler.start', stop: 'Profiler.stop' },
  'heap-sampling': { domain: 'HeapProfiler', start: 'HeapProfiler.startSampling', stop: 'HeapProfiler.stopSampling' },
};

/** Limit of samples in a profile, because samples stay in memory until the profile ends. */
const SAMPLES_MAX = 100_000;
const SAMPLE_EVERY_US = 1_000;

/** @type {Run | null} */
let run = null;

/** @type {Record<string, (question: any, answer: Answer) => void>} */
const STEPS = { begin, end, drop, stack: sampleStack, shut: closeInspector };

/**
 * @param {{ step: string, [key: string]: unknown }} question
 * @param {Answer} answer
 */
function profile({ step, ...question }, answer) {
  try {
    STEPS[step](question, answer);
  } catch (error) {
    answer({ failure: describeFailure(error) });
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
 * @param {{ file: string }} question
 * @param {Answer} answer
 */
function end({ file }, answer) {
  if (run?.file !== file) return answer({ failure: { code: 'EGIVENUP', message: 'the profile was cancelled' } });
  if (run.outcome) answer(run.outcome);
  else run.waiting.push(answer);
}

/**
 * Cancels the profile, because the client is gone.
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
  throw Object.assign(new Error(`"${file}" is not an empty file`), { code: 'EEXIST' });
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
  /** @param {() => void} how */
  const ending = (how) => () => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    how();
  };
  mine.giveUp = ending(() => {
    session.disconnect();
    conclude(mine, { failure: { code: 'EGIVENUP', message: 'the profile was cancelled' } });
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
        conclude(mine, { failure: describeFailure(error) });
      }
    }),
    durationMs,
  );
  timer.unref();
}

/**
 * Lets the answer go out before the snapshot blocks the process.
 * @param {Run} mine
 */
function snapshot(mine) {
  setImmediate(() => {
    const { fd } = mine;
    if (run !== mine || fd === null) return close(mine);
    try {
      // Writes a file, because on Node.js 20 and 22 a stream would hold the whole text in memory.
      require('node:v8').writeHeapSnapshot(getPath(mine.file, fd));
      conclude(mine, { bytes: fs.fstatSync(fd).size });
    } catch (error) {
      // Empties the file. If the disk is full, Node.js leaves the file open, so removing the file
      // would free no space.
      tryTo(() => fs.ftruncateSync(fd, 0));
      conclude(mine, { failure: describeFailure(error) });
    }
  });
}

/**
 * Opens the same file again by its descriptor, because its name may lead elsewhere by now. The
 * permission model of Node.js allows only the name.
 * @param {string} file
 * @param {number} fd
 */
function getPath(file, fd) {
  return process.platform === 'linux' && !('permission' in process) ? `/proc/self/fd/${fd}` : file;
}

/**
 * @param {Run} mine
 * @param {string} text
 */
function write(mine, text) {
  if (mine.fd === null) return;
  fs.writeFile(mine.fd, text, (error) => {
    conclude(mine, error ? { failure: describeFailure(error) } : { bytes: Buffer.byteLength(text) });
  });
}

/**
 * @param {Run} mine
 * @param {NonNullable<Run['outcome']>} outcome
 */
function conclude(mine, outcome) {
  close(mine);
  mine.outcome = outcome;
  for (const answer of mine.waiting.splice(0)) tryTo(() => answer(outcome));
}

/** @param {Run} mine */
function close(mine) {
  if (mine.fd !== null) fs.close(mine.fd, () => {});
  mine.fd = null;
}

module.exports = { profile };
