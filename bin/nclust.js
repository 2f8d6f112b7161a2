#!/usr/bin/env node
import { runProgram } from '../lib/program.js';

/**
 * A reader that has seen enough (`nclust ls | head -1`) is not an error.
 * @param {NodeJS.ErrnoException} error
 */
function onStreamError(error) {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
}

/**
 * @param {string} text
 * @returns {Promise<void>}
 */
function print(text) {
  if (text === '' || process.stdout.write(text)) return Promise.resolve();
  return new Promise((resolve) => { process.stdout.once('drain', resolve); });
}

/**
 * Not touched before there is something to say: making the stream costs `nclust ls` half a millisecond.
 * @param {string} text
 */
function talk(text) {
  if (process.stderr.listenerCount('error') === 0) process.stderr.on('error', onStreamError);
  process.stderr.write(text);
}

process.stdout.on('error', onStreamError);
process.exitCode = await runProgram(process.argv.slice(2), {
  print,
  talk,
  isTTY: process.stdout.isTTY === true,
  get isTalkTTY() { return process.stderr.isTTY === true; },
  columns: process.stdout.columns ?? null,
  cwd: process.cwd(),
  env: process.env,
  platform: process.platform,
  node: { file: process.execPath, version: process.version },
});
