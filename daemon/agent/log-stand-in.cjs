// When keeper and control are both gone nobody reads our pipes, and after 64 KiB every write would wait for ever: a service that
// logs would hang. So a thread of the process itself reads them and appends to the log files until the next keeper is there.
'use strict';

const fs = require('node:fs');
const net = require('node:net');
const { isMainThread, parentPort, Worker, workerData } = require('node:worker_threads');

/** @typedef {{ out: string | null, err: string | null }} LogFiles  null: output that is not wanted. */

/**
 * @param {LogFiles} logFiles
 * @returns {() => void}  Ends the thread.
 */
function startStandIn(logFiles) {
  const worker = new Worker(__filename, { workerData: logFiles, execArgv: [], env: {}, stdout: false, stderr: false });
  // A thread that fails must not end the app; the pipe is then as it was without it.
  worker.on('error', () => {});
  worker.unref();
  return () => worker.postMessage('stop');
}

/**
 * @param {number} fd  Our end of the pipe, as the keeper gave it to us.
 * @param {string | null} logFile
 */
function copy(fd, logFile) {
  // Through /proc the pipe is opened anew: the descriptor itself is in blocking mode, for the app.
  const reader = fs.openSync(`/proc/self/fd/${fd}`, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  const socket = new net.Socket({ fd: reader });
  const target = logFile === null ? null : fs.openSync(logFile, 'a', 0o600);
  socket.on('data', (chunk) => {
    if (target !== null) append(target, chunk);
  });
  return socket;
}

/** @param {number} target  @param {Buffer} chunk */
function append(target, chunk) {
  try {
    fs.writeSync(target, chunk);
  } catch {
    // A full disk costs lines, never the app. Nobody is there to count them.
  }
}

function main() {
  const sockets = [copy(1, workerData.out), copy(2, workerData.err)];
  parentPort?.on('message', () => {
    for (const socket of sockets) socket.destroy();
    parentPort?.close();
  });
}

if (isMainThread) module.exports = { startStandIn };
else main();
