// When keeper and control are both gone nobody reads our pipes, and after 64 KiB every write would
// wait for ever: a service that logs would hang. So a thread of the process itself reads them and
// appends to the log files, as long as no control answers.
'use strict';

const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
// Not those of the app: a DOM's are numbers.
const { setTimeout } = require('node:timers');
const { isMainThread, parentPort, Worker, workerData } = require('node:worker_threads');

const LOOK_EVERY_MS = 200;

/**
 * @typedef {{ out: string | null, err: string | null }} LogFiles  null: output that is not wanted.
 */

/**
 * @param {{ logFiles: LogFiles, home: string }} o
 * @returns {() => void}  Ends the thread.
 */
function startStandIn(o) {
  const text = require('./loader.cjs').textOf('./log-fallback.cjs');
  /** @type {Worker | null} */
  let worker = null;
  let isWanted = true;
  const begin = () => {
    if (!isWanted) return;
    try {
      // Untracked: with its end Node would close every descriptor that the thread has opened and a
      // socket has closed, whoever has that number by then.
      worker = new Worker(text, {
        eval: true,
        trackUnmanagedFds: false,
        workerData: o,
        execArgv: [],
        env: {},
        stdout: false,
        stderr: false,
      });
      // A thread that fails must not end the app: one without a descriptor left cannot begin.
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

/** The thread: reads while no control lives. */
function main() {
  const { logFiles, home } = workerData;
  const pipes = [
    { fd: 1, logFile: logFiles.out },
    { fd: 2, logFile: logFiles.err },
  ];
  /** What ends each of the copies, by descriptor. @type {Map<number, () => void>} */
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
      // This user may not enter the home, so control may be running and reading the pipe.
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
 * @param {number} fd  Our end of the pipe, as the keeper gave it to us.
 * @param {string | null} logFile
 * @returns {() => void}  Ends it.
 */
function copy(fd, logFile) {
  const socket = openPipe(fd);
  /** @type {number | null} */
  let target = null;
  const open = () => {
    target ??= logFile === null ? null : openLog(logFile);
  };
  // At once: soon the app may have no descriptor left.
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
 * Through /proc it is opened anew: the descriptor itself is in blocking mode, for the app.
 * @param {number} own
 */
function openPipe(own) {
  const fd = fs.openSync(`/proc/self/fd/${own}`, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  try {
    return new net.Socket({ fd });
  } catch (error) {
    // The app has put something else there.
    fs.closeSync(fd);
    throw error;
  }
}

/** @param {string} file */
function openLog(file) {
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  return fs.openSync(file, 'a', 0o600);
}

/**
 * A full disk, or a log that cannot be opened, costs lines, never the app. Nobody is there to count
 * them.
 * @param {() => void} act
 */
function tryTo(act) {
  try {
    act();
  } catch {
    // It is tried again with the next chunk, or at the next look.
  }
}

if (isMainThread) module.exports = { startStandIn };
else main();
