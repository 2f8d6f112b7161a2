import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { unreadable } from '../faults.js';
import { typeStrippingFlags } from '../spec/type-stripping.js';
import { withPatience } from './evaluation-limit.js';
import { syntaxPlace } from './syntax-place.js';

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */
/** @typedef {import('../evaluation/main.js').Answer} Answer */

const MAIN = fileURLToPath(new URL('../evaluation/main.js', import.meta.url));

/**
 * Runs a config that is a program and returns what it exports, as plain values. Variables it sets are set in this process, too: many begin with
 * `require('dotenv').config()`.
 * @param {string} file  Absolute.
 * @param {object} o
 * @param {string|null} o.env  The environment that was chosen, for an export that is a function.
 * @param {string} o.version  Of the Node.js that runs this command.
 * @param {import('./evaluation-limit.js').Patience & {talk: (sentence: string) => void}} o.patience
 * @returns {Promise<import('./load.js').Loaded>}  Rejects with ERR_NCLUST_BAD_CONFIG.
 */
export async function evaluate(file, { env, version, patience }) {
  const flags = /\.[cm]?ts$/.test(file) ? typeStrippingFlags(version) : [];
  if (flags === null) throw unreadable(file, `Node.js ${version} cannot run TypeScript`, { hint: 'Use Node.js 22.18 or newer, or write the file as .js, .json or .yaml.' });
  // What it prints is talk: stdout is for the data of the command.
  const child = fork(MAIN, [JSON.stringify({ file, env }), ...process.argv.slice(2)], { execArgv: flags, serialization: 'advanced', stdio: ['inherit', 2, 2, 'ipc'] });
  const answer = await withPatience(file, answerOf(child, file), patience).finally(() => end(child));
  if ('error' in answer) throw unreadable(file, answer.error.message, { ...answer.error, ...(answer.error.line === null ? await syntaxPlace(file, flags) : {}) });
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
function answerOf(child, file) {
  return new Promise((resolve, reject) => {
    child.once('message', (answer) => resolve(/** @type {Answer} */ (answer)));
    child.once('error', (cause) => reject(unreadable(file, `no process could be started for it (${/** @type {NodeJS.ErrnoException} */ (cause).code})`, { cause })));
    child.once('exit', (code, signal) => reject(unreadable(file, ending(code, signal))));
  });
}

/**
 * @param {number|null} code
 * @param {NodeJS.Signals|null} signal
 */
function ending(code, signal) {
  if (signal !== null) return `it was ended by ${signal}`;
  // 13: what stands at its top level waits for ever.
  return code === 0 || code === 13 ? 'it ended before it exported anything: a promise of it never settles, or it calls process.exit()' : `it ended with code ${code}`;
}

/**
 * With whatever it has left running.
 * @param {ChildProcess} child
 */
async function end(child) {
  const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null;
  child.kill('SIGKILL');
  await ended;
}
