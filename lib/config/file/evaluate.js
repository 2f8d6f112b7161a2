import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { withDeadline } from '../../shared/deadline.js';
import { NclustError } from '../../shared/errors.js';
import { DURATION_FORMS, formatDuration, parseDuration } from '../../shared/units.js';
import { placeIn } from '../evaluation/describe-error.js';
import { unreadableError } from '../faults.js';
import { typeStrippingFlags } from '../spec/interpreter.js';

/** @import { ChildProcess } from 'node:child_process' */
/** @import { Answer } from '../evaluation/main.js' */
/** @import { Loaded } from './load.js' */

const MAIN = fileURLToPath(new URL('../evaluation/main.js', import.meta.url));

/**
 * Runs a config file that is code, in a child process. If the file changes environment variables,
 * changes them in this process, too, because many files begin with `require('dotenv').config()`.
 * @param {string} file
 * @param {object} o
 * @param {string | null} o.env  The chosen environment. An exported function gets this name.
 * @param {string} o.version  Of the Node.js that runs this command.
 * @param {Patience & { printMessage: (sentence: string) => void }} o.patience
 * @returns {Promise<Loaded>}
 */
export async function evaluate(file, { env, version, patience }) {
  const flags = /\.[cm]?ts$/.test(file) ? typeStrippingFlags(version) : [];
  if (flags === null)
    throw unreadableError(file, `Node.js ${version} cannot run TypeScript`, {
      hint: 'Use Node.js 22.18 or newer, or write the file as .js, .json or .yaml.',
    });
  // stdout of the file goes to stderr, because stdout is for the data of the command.
  const child = fork(MAIN, [JSON.stringify({ file, env }), ...process.argv.slice(2)], {
    execArgv: [...flags, '--'], // Node.js must not read the arguments of the command.
    serialization: 'advanced',
    stdio: ['inherit', 2, 2, 'ipc'],
  });
  const answer = await withPatience(file, parseAnswer(child, file), patience).finally(() => end(child));
  if ('error' in answer)
    throw unreadableError(file, answer.error.message, {
      ...answer.error,
      ...(answer.error.line === null ? await syntaxPlace(file, flags) : {}),
    });
  const { variables, ...loaded } = answer;
  for (const [name, value] of variables) {
    if (value === null) delete process.env[name];
    else process.env[name] = value;
  }
  return loaded;
}

/**
 * @param {ChildProcess} child
 * @param {string} file
 * @returns {Promise<Answer>}
 */
function parseAnswer(child, file) {
  return new Promise((resolve, reject) => {
    child.once('message', (answer) => resolve(/** @type {Answer} */ (answer)));
    child.once('error', (cause) =>
      reject(
        unreadableError(
          file,
          `nclust could not start a process for it (${/** @type {NodeJS.ErrnoException} */ (cause).code})`,
          { cause },
        ),
      ),
    );
    child.once('exit', (code, signal) => reject(unreadableError(file, ending(code, signal))));
  });
}

/**
 * @param {number | null} code
 * @param {NodeJS.Signals | null} signal
 */
function ending(code, signal) {
  if (signal !== null) return `it was killed by ${signal}`;
  // Exit code 13: a top-level await never settled.
  return code === 0 || code === 13
    ? 'it exited before it exported anything: it waits for a promise that never settles, or calls process.exit()'
    : `it exited with code ${code}`;
}

/**
 * Kills the process, because timers or servers of the file may keep it alive.
 * @param {ChildProcess} child
 */
async function end(child) {
  const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null;
  child.kill('SIGKILL');
  await ended;
}

const LIMIT_VARIABLE = 'NCLUST_CONFIG_TIMEOUT';

const LIMIT_MS = 60_000;

/** Time until the first "has been running" notice, in ms. */
const FIRST_WORD_MS = 5_000;
/** Time between two later notices, in ms. */
const NEXT_WORD_MS = 15_000;

/** @typedef {{ limitMs: number, firstWordMs: number }} Patience  `limitMs` 0: no limit. */

/**
 * @param {Record<string, string | undefined>} shell
 * @returns {Patience}
 */
export function evaluationLimits(shell) {
  const text = shell[LIMIT_VARIABLE];
  const limitMs = text === undefined || text === '' ? LIMIT_MS : parseDuration(text);
  if (limitMs === null)
    throw new NclustError(
      'ERR_NCLUST_USAGE',
      `The variable ${LIMIT_VARIABLE} is "${text}"; accepted: ${DURATION_FORMS}, or 0 for no limit.`,
    );
  return { limitMs, firstWordMs: FIRST_WORD_MS };
}

/**
 * Prints notices while an evaluation runs. Rejects at the time limit, but does not stop the
 * evaluation.
 * @template T
 * @param {string} file
 * @param {Promise<T>} evaluation
 * @param {Patience & { printMessage: (sentence: string) => void }} o
 * @returns {Promise<T>}
 */
async function withPatience(file, evaluation, { limitMs, firstWordMs, printMessage }) {
  /** @type {NodeJS.Timeout[]} */
  const timers = [];
  const until =
    limitMs === 0
      ? `there is no time limit (${LIMIT_VARIABLE}=0)`
      : `the time limit is ${formatDuration(limitMs)} (${LIMIT_VARIABLE})`;
  const scheduleWarning = (/** @type {number} */ ms) =>
    timers.push(
      setTimeout(
        () => {
          printMessage(`"${file}" has been running for ${formatDuration(ms)} and has exported nothing yet; ${until}.`);
          scheduleWarning(ms + NEXT_WORD_MS);
        },
        ms === firstWordMs ? ms : NEXT_WORD_MS,
      ),
    );
  scheduleWarning(firstWordMs);
  try {
    if (limitMs === 0) return await evaluation;
    return await withDeadline(limitMs, evaluation, () => {
      throw tooLate(file, limitMs);
    });
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
}

/**
 * @param {string} file
 * @param {number} limitMs
 */
function tooLate(file, limitMs) {
  return unreadableError(file, `it exported nothing within ${formatDuration(limitMs)}, and was stopped`, {
    hint:
      `It loops, or waits at its top level, in its function or for its promise. To raise the limit: ` +
      `${LIMIT_VARIABLE}=5m`,
  });
}

/** Time limit for `node --check`. If the check takes longer, the error does not show the line. */
const CHECK_MS = 5_000;

/**
 * Finds the place of a syntax error in an ES module with `node --check`, because the error of
 * import() does not contain the place.
 * @param {string} file
 * @param {string[]} flags
 * @returns {Promise<{ line?: number, column?: number | null }>}  Empty: unknown.
 */
function syntaxPlace(file, flags) {
  return new Promise((resolve) => {
    execFile(process.execPath, [...flags, '--check', file], { timeout: CHECK_MS }, (error, _stdout, stderr) => {
      resolve(error && stderr.includes('SyntaxError') ? (placeIn(stderr, file) ?? {}) : {});
    });
  });
}
