// While keeper and control are both dead, nothing reads the pipes, and after 64 KiB every write of
// the app hangs. So a thread appends the output to the log files until a control answers.
'use strict';

const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { setTimeout } = require('node:timers');
const { isMainThread, parentPort, Worker, workerData } = require('node:worker_threads');

const LOOK_EVERY_MS = 200;

/**
 * @typedef {{ out: string | null, err: string | null }} LogFiles  null: this output is dropped.
 */

/**
 * @param {{ logFiles: LogFiles, home: string }} o
 * @returns {() => void}  Ends the thread.
 */
function startLogFallback(o) {
  const text = require('./loader.cjs').readSource('./log-fallback.cjs');
  /** @type {Worker | null} */
  let worker = null;
  let isWanted = true;
  const begin = () => {
    if (!isWanted) return;
    try {
      // Turns off tracking, because with tracking Node.js closes descriptors by number, even if a
      // number now belongs to another file.
      worker = new Worker(text, {
        eval: true,
        trackUnmanagedFds: false,
        workerData: o,
        execArgv: [],
        env: {},
        stdout: false,
        stderr: false,
      });
      // An error, for example because no descriptor is left, needs no handling: 'exit' follows.
      worker.on('error', () => {});
      worker.on('exit', beginLater);
      worker.unref();
    } catch {
      beginLater();
    }
  };
  const beginLater = () => void setTimeout(begin, LOOK_EVERY_MS).unref();
  begin();
  return () => {
    isWanted = false;
    worker?.postMessage('end');
  };
}

function main() {
  const { logFiles, home } = workerData;
  const pipes = [
    { fd: 1, logFile: logFiles.out },
    { fd: 2, logFile: logFiles.err },
  ];
  /** @type {Map<number, () => void>} */
  const ends = new Map();
  const read = () => {
    for (const { fd, logFile } of pipes) if (!ends.has(fd)) tryTo(() => ends.set(fd, copy(fd, logFile)));
  };
  const rest = () => {
    for (const end of ends.values()) end();
    ends.clear();
  };
  const look = () => {
    const control = net.connect(path.join(home, 'nclust.sock'));
    control.on('connect', rest);
    control.on('error', (/** @type {NodeJS.ErrnoException} */ { code }) => {
      // Does not read after EACCES: this user may not enter the home, but control may be running
      // and reading the pipes.
      if (code !== 'EACCES') read();
    });
    control.on('close', () => void setTimeout(look, LOOK_EVERY_MS));
  };
  look();
  parentPort?.on('message', () => {
    rest();
    process.exit();
  });
}

/**
 * @param {number} fd
 * @param {string | null} logFile
 * @returns {() => void}
 */
function copy(fd, logFile) {
  const socket = openPipe(fd);
  /** @type {number | null} */
  let target = null;
  const open = () => {
    target ??= logFile === null ? null : openLog(logFile);
  };
  // Opens the log file now, because the app may run out of descriptors later.
  tryTo(open);
  socket.on('data', (chunk) =>
    tryTo(() => {
      open();
      if (target !== null) fs.writeSync(target, chunk);
    }),
  );
  return () => {
    socket.destroy();
    if (target !== null) fs.closeSync(target);
  };
}

/**
 * Opens the pipe again through /proc, because the descriptor of the app is in blocking mode.
 * @param {number} own
 */
function openPipe(own) {
  const fd = fs.openSync(`/proc/self/fd/${own}`, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  try {
    return new net.Socket({ fd });
  } catch (error) {
    fs.closeSync(fd);
    throw error;
  }
}

/** @param {string} file */
function openLog(file) {
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  return fs.openSync(file, 'a', 0o600);
}

/** @param {() => void} act */
function tryTo(act) {
  try {
    act();
  } catch {
    // The disk is full, for example. Lines are lost, and the next chunk or poll tries again.
  }
}

if (isMainThread) module.exports = { startLogFallback };
else main();
