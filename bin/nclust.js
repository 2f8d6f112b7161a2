#!/bin/sh
// 2>/dev/null; exec node -- "$0" "$@"

// The line above is a command for sh and a comment for Node.js. sh fails to run "//" and continues
// with exec. Without "--", Node.js would read the file of an --env-file option of nclust, and obey
// a NODE_OPTIONS in that file.
import module from 'node:module';
import { isatty } from 'node:tty';

/** @import { Io } from '../lib/cli/perform.js' */

/** @type {Io} */
const io = {
  print,
  printMessage,
  isTTY: isatty(1),
  isTalkTTY: isatty(2),
  get columns() {
    return process.stdout.columns || null;
  },
  talkSize: () => ({ columns: process.stderr.columns || 80, rows: process.stderr.rows || 24 }),
  colourLevels: async () => (await import('../lib/render/paint.js')).detectLevels(),
  onInterrupt,
  get cwd() {
    return process.cwd();
  },
  env: process.env,
  platform: process.platform,
  node: { file: process.execPath, version: process.version },
};

let hasPrinted = false;
let hasTalked = false;

void main(process.argv.slice(2));

/** @param {string[]} argv */
async function main(argv) {
  if (process.pid === 1 && process.platform === 'linux') (await import('../lib/run/first-process.js')).becomeInit(argv);
  // Turns on the compile cache before the large modules load. Node.js 22.8 and later has this
  // cache.
  if ('enableCompileCache' in module) (await import('../lib/cli/compile-cache.js')).keepCompiled(process.env);
  const { runProgram } = await import('../lib/cli/program.js');
  process.exitCode = await runProgram(argv, io);
  // process.exit() is faster than waiting until Node.js finds that nothing is left to do.
  if (process.stdout.writableLength === 0 && !hasTalked) process.exit();
}

/** @param {string} text */
async function print(text) {
  if (!hasPrinted) process.stdout.on('error', onOutputError);
  hasPrinted = true;
  if (!process.stdout.write(text))
    await new Promise((resolve) => {
      process.stdout.once('drain', resolve);
    });
}

/** @param {string} text */
function printMessage(text) {
  if (!hasTalked) process.stderr.on('error', () => {});
  hasTalked = true;
  process.stderr.write(text);
}

/** @param {() => void} listener */
function onInterrupt(listener) {
  process.on('SIGINT', listener);
  return () => process.off('SIGINT', listener);
}

/**
 * Exits quietly if the reader closes early (`nclust ls | head -1`). Reports other errors, for
 * example a full disk.
 * @param {NodeJS.ErrnoException} error
 */
function onOutputError({ code }) {
  if (code === 'EPIPE') process.exit();
  printMessage(`nclust: The output could not be written (${code}).\n`);
  process.exit(1);
}
