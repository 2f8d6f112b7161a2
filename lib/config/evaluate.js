import { writeSync } from 'node:fs';
import { SHARE_ENV, Worker } from 'node:worker_threads';
import { unreadable } from './config-fault.js';
import { syntaxPlace } from './syntax-place.js';
import { typeStrippingFlags } from './type-stripping.js';

/** @typedef {import('./load-config.js').Loaded | {error: import('./evaluation/describe-error.js').EvaluationError}} Message */

/**
 * Runs a config that is a program and returns what it exports, as plain values. Variables it sets are set in this process, too: many begin with
 * `require('dotenv').config()`.
 * @param {string} file  Absolute.
 * @param {object} o
 * @param {string|null} o.env  The environment that was chosen, for an export that is a function.
 * @param {string} o.version  Of the Node.js that runs this command.
 * @returns {Promise<import('./load-config.js').Loaded>}  Rejects with ERR_NCLUST_BAD_CONFIG.
 */
export async function evaluate(file, { env, version }) {
  const flags = /\.[cm]?ts$/.test(file) ? typeStrippingFlags(version) : [];
  if (flags === null) throw unreadable(file, `Node.js ${version} cannot run TypeScript`, { hint: 'Use Node.js 22.18 or newer, or write the file as .js, .json or .yaml.' });
  const worker = new Worker(new URL('./evaluation/main.js', import.meta.url), {
    workerData: { file, env }, env: SHARE_ENV, argv: process.argv.slice(2), stdout: true,
    // Without it a thread has the arguments of this process; not all of them may be said of a thread.
    ...(flags.length > 0 ? { execArgv: flags } : {}),
  });
  /** @type {Buffer[]} */
  const printed = [];
  worker.stdout.on('data', (chunk) => printed.push(chunk));
  try {
    const message = await answerOf(worker, file);
    if ('error' in message) throw unreadable(file, message.error.message, { ...message.error, ...(message.error.line === null ? await syntaxPlace(file, flags) : {}) });
    return message;
  } finally {
    await worker.terminate();
    if (printed.length > 0) tell(Buffer.concat(printed));
  }
}

/**
 * @param {Worker} worker
 * @param {string} file
 * @returns {Promise<Message>}
 */
function answerOf(worker, file) {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', (error) => reject(unreadable(file, error.message, { cause: error })));
    worker.once('exit', (code) => reject(unreadable(file, code === 13 || code === 0 ? 'it ended before it exported anything: a promise of it never settles, or it calls process.exit()' : `it ended with code ${code}`)));
  });
}

/**
 * What a config prints is talk: stdout is for the data of the command.
 * @param {Buffer} text
 */
function tell(text) {
  try {
    writeSync(2, text);
  } catch (error) {
    // Nobody has to read it.
    if (!['EPIPE', 'EAGAIN'].includes(/** @type {NodeJS.ErrnoException} */ (error).code ?? '')) throw error;
  }
}
