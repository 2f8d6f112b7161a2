import { mkdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { createFrameReader } from '../shared/wire/output-frame.js';
import { createWholeLines } from './whole-lines.js';

/** @typedef {import('node:net').Socket} Socket */
/** @typedef {import('../shared/wire/output-frame.js').FrameHead} FrameHead */
/** @typedef {import('./sink.js').Sink} Sink */
/** @typedef {import('./whole-lines.js').WholeLines} WholeLines */

/**
 * Takes the output of the apps from control and shows it. It reads no more than is taken from it, so that in the end the app waits that writes too much:
 *
 *     app -- pipe --> control -- output.sock --> here --> stdout, stderr
 *
 * @typedef {object} Output
 * @property {() => Promise<boolean>} close  Takes what is on its way until control has gone. Resolves with false when nobody reads on, and gives up what is left.
 */

/** How long the end waits for somebody who reads nothing, in ms. */
const PATIENCE_MS = 2_000;

/**
 * @param {string} path  Of the socket. A dead one is replaced.
 * @param {object} o
 * @param {{out: Sink, err: Sink}} o.sinks
 * @param {import('./line-shape.js').Shape} o.shape
 * @param {() => void} o.onEnded  An instance has written its last.
 * @returns {Promise<Output>}  Rejects with what the system says.
 */
export async function openOutput(path, { sinks, shape, onEnded }) {
  /** @type {Map<string, WholeLines>} */
  const streams = new Map();
  /** @type {Set<Socket>} */
  const sockets = new Set();

  /** @param {FrameHead} head @param {Buffer} bytes @returns {Promise<void>|null} */
  function show(head, bytes) {
    const { stream, isEnd } = head;
    const key = `${head.instanceId} ${stream}`;
    const lines = streams.get(key) ?? createWholeLines();
    streams.set(key, lines);
    const whole = isEnd ? lines.end() : lines.push(bytes);
    if (isEnd) streams.delete(key);
    const written = whole.length === 0 ? null : sinks[stream].write(key, shape(head, whole));
    if (isEnd) onEnded();
    return written;
  }

  const bytesRead = () => [...sockets].reduce((sum, socket) => sum + socket.bytesRead, 0);
  const server = createServer((socket) => {
    sockets.add(socket);
    /** @type {Promise<void>[]} */
    const waits = [];
    const read = createFrameReader((head, bytes) => {
      const written = show(head, bytes);
      if (written) waits.push(written);
    });
    socket.on('data', (chunk) => {
      read(chunk);
      if (waits.length === 0) return;
      socket.pause();
      void Promise.all(waits.splice(0)).then(() => socket.resume());
    });
    socket.on('error', () => {}); // 'close' follows.
    socket.on('close', () => sockets.delete(socket));
  });
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  rmSync(path, { force: true });
  await new Promise((resolve, reject) => void server.once('error', reject).listen(path, () => resolve(undefined)));

  return {
    async close() {
      const closed = new Promise((resolve) => void server.close(() => resolve(true)));
      for (let before = bytesRead(); !(await isWithin(PATIENCE_MS, closed)); before = bytesRead()) {
        if (bytesRead() > before) continue;
        for (const socket of sockets) socket.destroy();
        return false;
      }
      return true;
    },
  };
}

/**
 * @param {number} ms
 * @param {Promise<unknown>} promise
 * @returns {Promise<boolean>}
 */
async function isWithin(ms, promise) {
  /** @type {NodeJS.Timeout|undefined} */
  let timer;
  const late = new Promise((resolve) => { timer = setTimeout(() => resolve(false), ms); });
  const first = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return first === true;
}
