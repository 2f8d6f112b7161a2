#!/usr/bin/env node
'use strict';

const { writeSync } = require('node:fs');
const { isatty } = require('node:tty');

/** The names of `list`, for the one command line that is worth a way of its own. */
const LIST_WORDS = ['list', 'ls', 'l', 'ps', 'status'];

/** @type {import('../lib/perform.js').Io} */
const io = {
  print,
  talk,
  isTTY: isatty(1),
  get isTalkTTY() { return isatty(2); },
  get columns() { return process.stdout.columns ?? null; },
  talkSize: () => ({ columns: process.stderr.columns || 80, rows: process.stderr.rows || 24 }),
  onInterrupt,
  get cwd() { return process.cwd(); },
  env: process.env,
  platform: process.platform,
  node: { file: process.execPath, version: process.version },
};

/** Once stdout is a stream, everything goes that way: the lines must not overtake each other. */
let isStreaming = false;
let hasTalked = false;

void main(process.argv.slice(2));

/** @param {string[]} argv */
async function main(argv) {
  process.exitCode = await run(argv);
  // Nothing waits to be written. To let node come to its end by itself takes it 1 ms more.
  if (!isStreaming && !hasTalked) process.exit();
}

/**
 * `nclust ls` is typed all day, and what it costs beyond `node -e 0` is nearly all reading modules. So it has a way of its own, and this folder is
 * CommonJS because the first ES module of a process costs 3 ms. See lib/quick-list.cjs.
 * @param {string[]} argv
 */
async function run(argv) {
  if (argv.length === 1 && LIST_WORDS.includes(argv[0]) && (await require('../lib/quick-list.cjs').quickList(io))) return 0;
  if (process.pid === 1 && process.platform === 'linux') (await import('../lib/run/init.js')).becomeInit(argv);
  const { runProgram } = await import('../lib/program.js');
  return runProgram(argv, io);
}

/**
 * Written without process.stdout, which costs `nclust ls` half a millisecond to make, unless it is a pipe that somebody has made non-blocking and
 * that is full: then only a stream can wait for its reader.
 * @param {string} text
 * @returns {Promise<void>}
 */
async function print(text) {
  const left = isStreaming ? Buffer.from(text) : writeNow(Buffer.from(text));
  if (left.length === 0) return;
  if (!isStreaming) process.stdout.on('error', onOutputError);
  isStreaming = true;
  if (!process.stdout.write(left)) await new Promise((resolve) => { process.stdout.once('drain', resolve); });
}

/**
 * @param {Buffer} bytes
 * @returns {Buffer}  What could not be written without waiting.
 */
function writeNow(bytes) {
  let at = 0;
  try {
    while (at < bytes.length) at += writeSync(1, bytes, at);
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code !== 'EAGAIN') onOutputError(/** @type {NodeJS.ErrnoException} */ (error));
  }
  return bytes.subarray(at);
}

/**
 * What nobody reads changes nothing about the work.
 * @param {string} text
 */
function talk(text) {
  if (!hasTalked) process.stderr.on('error', () => {});
  hasTalked = true;
  process.stderr.write(text);
}

/**
 * @param {() => void} listener
 */
function onInterrupt(listener) {
  process.on('SIGINT', listener);
  return () => process.off('SIGINT', listener);
}

/**
 * A reader that has seen enough (`nclust ls | head -1`) is not an error; a full disk is.
 * @param {NodeJS.ErrnoException} error
 */
function onOutputError({ code }) {
  if (code === 'EPIPE') process.exit();
  talk(`nclust: The output cannot be written (${code}).\n`);
  process.exit(1);
}
