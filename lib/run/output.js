import { mkdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { formatRecord, jsonRecord } from '../render/log-lines.js';
import { formatTime, TIMESTAMP_FORMAT } from '../render/log-time.js';
import { createWholeLines } from '../shared/daemon/lines.js';
import { withDeadline } from '../shared/deadline.js';
import { createFrameReader } from '../shared/wire/output-frame.js';

/** @import { Socket } from 'node:net' */
/** @import { WholeLines } from '../shared/daemon/lines.js' */
/** @import { FrameHead } from '../shared/wire/output-frame.js' */
/** @import { LogEntry, LogStream } from '../shared/wire/protocol.js' */
/** @import { Sink } from './sink.js' */

/**
 * Reads output of apps only as fast as the sinks write, so that an app that writes too much waits:
 *
 *     app -- pipe --> control -- output.sock --> here --> stdout, stderr
 *
 * @typedef {object} Output
 * @property {() => Promise<boolean>} close  Waits for the last output of control. False: the reader
 *   of a sink does not read any more, and the rest is dropped.
 */

/** How long close() waits while the reader of a sink reads nothing, in ms. */
const PATIENCE_MS = 2_000;

/**
 * @param {string} path  Path of the socket. Replaces a socket of a dead process.
 * @param {object} o
 * @param {{ out: Sink, err: Sink }} o.sinks
 * @param {(name: string, stream: LogStream) => LogStream} [o.outputOf]
 *   The sink for a stream of an app. Default: the same stream.
 * @param {Shape} o.shape
 * @param {() => void} o.onEnded  A stream of an instance has ended.
 * @returns {Promise<Output>}
 */
export async function openOutput(path, { sinks, outputOf = (_name, stream) => stream, shape, onEnded }) {
  /** @type {Map<string, WholeLines>} */
  const streams = new Map();
  /** @type {Set<Socket>} */
  const sockets = new Set();

  /**
   * @param {FrameHead} head
   * @param {Buffer} bytes
   */
  function show(head, bytes) {
    const { stream, isEnd } = head;
    const key = `${head.instanceId} ${stream}`;
    const lines = streams.get(key) ?? createWholeLines(LINE_MAX_BYTES);
    streams.set(key, lines);
    const whole = Buffer.concat((isEnd ? lines.end() : lines.push(bytes)).map((piece) => piece.bytes));
    if (isEnd) streams.delete(key);
    const written = whole.length === 0 ? null : sinks[outputOf(head.name, stream)].write(key, shape(head, whole));
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
      /** @type {Promise<boolean>} */
      const closed = new Promise((resolve) => void server.close(() => resolve(true)));
      const isClosedSoon = () => withDeadline(PATIENCE_MS, closed, () => false);
      for (let before = bytesRead(); !(await isClosedSoon()); before = bytesRead()) {
        if (bytesRead() > before) continue;
        for (const socket of sockets) socket.destroy();
        return false;
      }
      return true;
    },
  };
}

/** A longer line is written in parts. */
const LINE_MAX_BYTES = 16 * 1024 * 1024;

/** @typedef {(head: FrameHead, lines: Buffer) => Buffer} Shape  Formats whole lines. */

/**
 * @param {{ json?: boolean, format?: boolean, formatted?: boolean }} options
 * @returns {Shape}
 */
export function chooseShape({ json, format, formatted }) {
  if (json) return byLine(jsonRecord);
  if (format) return byLine((entry) => formatRecord(entry));
  if (formatted) return byLine(({ atMs, name, line }) => `${formatTime(atMs, TIMESTAMP_FORMAT)} ${name} ${line}`);
  return (_head, lines) => lines;
}

/**
 * @param {(entry: LogEntry) => string} textOf
 * @returns {Shape}
 */
function byLine(textOf) {
  return ({ id, name, stream, atMs }, lines) => {
    const texts = lines.toString('utf8').split('\n');
    const rest = texts.pop() ?? '';
    const entries = texts.map((line) => ({ line: line.endsWith('\r') ? line.slice(0, -1) : line }));
    const all = rest === '' ? entries : [...entries, { line: rest, part: /** @type {const} */ (true) }];
    return Buffer.from(all.map((entry) => `${textOf({ id, name, stream, atMs, ...entry })}\n`).join(''));
  };
}
