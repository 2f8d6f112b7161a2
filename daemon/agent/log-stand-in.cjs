// When keeper and control are both gone nobody reads our pipes, and after 64 KiB every write would wait for ever: a service that
// logs would hang. So a thread of the process itself reads them and appends to the log files, as long as no control answers.
'use strict';

const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { isMainThread, parentPort, Worker, workerData } = require('node:worker_threads');

const LOOK_EVERY_MS = 200;

/** @typedef {{ out: string | null, err: string | null }} LogFiles  null: output that is not wanted. */

/**
 * @param {{ logFiles: LogFiles, home: string }} o
 * @returns {() => void}  Ends the thread.
 */
function startStandIn(o) {
  // Untracked: with its end Node would close every descriptor that the thread has opened and a socket has closed, whoever has that number by then.
  const worker = new Worker(require('./later.cjs').textOf('./log-stand-in.cjs'), { eval: true, trackUnmanagedFds: false, workerData: o, execArgv: [], env: {}, stdout: false, stderr: false });
  // A thread that fails must not end the app; the pipes are then as they were without it.
  worker.on('error', () => {});
  worker.unref();
  return () => worker.postMessage('end');
}

/** The thread: reads while no control lives. */
function main() {
  const { logFiles, home } = workerData;
  /** Each ends one of the copies. @type {(() => void)[]} */
  let ends = [];
  const read = () => {
    if (ends.length === 0) ends = [copy(1, logFiles.out), copy(2, logFiles.err)];
  };
  const rest = () => {
    for (const end of ends) end();
    ends = [];
  };
  const look = () => {
    const control = net.connect(path.join(home, 'nclust.sock'));
    control.on('connect', rest);
    control.on('error', read); // Nobody is there.
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
  // Through /proc the pipe is opened anew: the descriptor itself is in blocking mode, for the app.
  const socket = new net.Socket({ fd: fs.openSync(`/proc/self/fd/${fd}`, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK) });
  const target = logFile === null ? null : openLog(logFile);
  socket.on('data', (chunk) => {
    if (target !== null) append(target, chunk);
  });
  return () => {
    socket.destroy();
    if (target !== null) fs.closeSync(target);
  };
}

/** @param {string} file */
function openLog(file) {
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  return fs.openSync(file, 'a', 0o600);
}

/** @param {number} target  @param {Buffer} chunk */
function append(target, chunk) {
  try {
    fs.writeSync(target, chunk);
  } catch {
    // A full disk costs lines, never the app. Nobody is there to count them.
  }
}

if (isMainThread) module.exports = { startStandIn };
else main();
