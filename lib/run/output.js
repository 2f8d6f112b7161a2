import { mkdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { formatRecord, jsonRecord } from '../render/log-lines.js';
import { formatTime, TIMESTAMP_FORMAT } from '../render/log-time.js';
import { createFrameReader } from '../shared/wire/output-frame.js';

/** @import { Socket } from 'node:net' */
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
    const lines = streams.get(key) ?? createWholeLines();
    streams.set(key, lines);
    const whole = isEnd ? lines.end() : lines.push(bytes);
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
 */
async function isWithin(ms, promise) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const first = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return first === true;
}

const NEWLINE = 0x0a;
const LINE_END = Buffer.from('\n');
const NOTHING = Buffer.alloc(0);

/** A longer line is written in parts. */
const LINE_MAX_BYTES = 16 * 1024 * 1024;

/**
 * Holds back an unfinished line, so that lines of several processes do not mix.
 * @typedef {object} WholeLines
 * @property {(bytes: Buffer) => Buffer} push  Returns finished lines, and parts of a line that is
 *   too long. Keeps a copy of the rest.
 * @property {() => Buffer} end  Returns the unfinished line, with a line end.
 */

/** @returns {WholeLines} */
export function createWholeLines() {
  /** @type {Buffer[]} */
  let held = [];
  let heldBytes = 0;

  /** @param {Buffer} bytes */
  function hold(bytes) {
    if (bytes.length > 0) held.push(Buffer.from(bytes));
    heldBytes += bytes.length;
  }

  /** @param {Buffer} end */
  function finish(end) {
    const bytes = Buffer.concat([...held, end]);
    held = [];
    heldBytes = 0;
    return bytes;
  }

  return {
    push(bytes) {
      const end = bytes.lastIndexOf(NEWLINE) + 1;
      const whole = end === 0 ? NOTHING : finish(bytes.subarray(0, end));
      hold(bytes.subarray(end));
      if (heldBytes <= LINE_MAX_BYTES) return whole;
      const long = finish(NOTHING);
      const characters = endOfCharacters(long);
      hold(long.subarray(characters));
      return Buffer.concat([whole, long.subarray(0, characters)]);
    },
    end: () => (heldBytes === 0 ? NOTHING : finish(LINE_END)),
  };
}

/**
 * @param {Buffer} bytes
 * @returns {number}  End of the last whole UTF-8 character. Bytes that are not UTF-8: the length.
 */
function endOfCharacters(bytes) {
  for (let at = bytes.length - 1; at >= Math.max(0, bytes.length - 4); at--) {
    if ((bytes[at] & 0xc0) === 0x80) continue;
    const size = bytes[at] >= 0xf0 ? 4 : bytes[at] >= 0xe0 ? 3 : bytes[at] >= 0xc0 ? 2 : 1;
    return at + size > bytes.length ? at : bytes.length;
  }
  return bytes.length;
}

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
