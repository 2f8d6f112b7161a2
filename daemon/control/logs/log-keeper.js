import { createFifoOpener } from './fifo-reader.js';
import { createFollowers } from './followers.js';
import { createLastLines } from './last-lines.js';
import { createLogFile } from './log-file.js';

/** @import { LogStream } from '../../../lib/shared/protocol.js' */
/** @import { FifoReader } from './fifo-reader.js' */
/** @import { Follower, Source } from './followers.js' */
/** @import { LastLines } from './last-lines.js' */

/** How long after a pipe could not be opened (too many open files) it is tried again, in ms. */
const REOPEN_MS = 500;

/**
 * @typedef {object} LogPlace
 * @property {string} instanceId
 * @property {number} id  Of the slot.
 * @property {string} name
 * @property {string|null} outPipe
 * @property {string|null} errPipe
 * @property {string} outFile  Empty: nothing is kept.
 * @property {string} errorFile
 */

/**
 * Reads what instances write, into their files.
 * @typedef {object} LogKeeper
 * @property {(place: LogPlace) => void} attach  Idempotent.
 * @property {(instanceId: string) => string[]} drain  Reads what is in the pipes now; returns the last lines of stderr.
 * @property {(instanceId: string) => void} detach  Reads the rest and closes.
 * @property {(follower: Follower) => () => void} follow
 * @property {() => string[]} notices
 */

/** @typedef {{source: Source, pipe: string|null, file: string, reader: FifoReader|null, isWaiting: boolean, lastLines: LastLines|null}} Stream */

/**
 * @param {import('../clock.js').Clock} clock
 * @returns {LogKeeper}
 */
export function createLogKeeper(clock) {
  const openFifo = createFifoOpener();
  const followers = createFollowers(clock.nowMs);
  const files = createFileTable(clock.nowMs);
  /** @type {Map<string, Stream[]>} */
  const attached = new Map();

  /** @param {Stream} stream @param {Buffer} chunk */
  function take(stream, chunk) {
    files.write(stream.file, chunk);
    stream.lastLines?.push(chunk);
    followers.push(stream.source, chunk);
  }

  /** @param {string} instanceId @param {Stream} stream */
  function open(instanceId, stream) {
    if (stream.pipe === null || stream.reader?.isOpen() || !attached.get(instanceId)?.includes(stream)) return;
    stream.isWaiting = false;
    try {
      stream.reader = openFifo(stream.pipe, (chunk) => take(stream, chunk));
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return; // Its keeper is gone and nobody writes there.
      stream.isWaiting = true;
      clock.after(REOPEN_MS, () => open(instanceId, stream));
    }
  }

  return {
    attach(place) {
      const streams = attached.get(place.instanceId) ?? streamsOf(place);
      if (!attached.has(place.instanceId)) for (const { file } of streams) files.hold(file);
      attached.set(place.instanceId, streams);
      for (const stream of streams) open(place.instanceId, stream);
    },
    drain(instanceId) {
      const streams = attached.get(instanceId) ?? [];
      for (const stream of streams) stream.reader?.drain();
      return streams.flatMap((stream) => stream.lastLines?.lines() ?? []);
    },
    detach(instanceId) {
      for (const stream of attached.get(instanceId) ?? []) {
        // A pipe that could not be opened until now is read at last.
        if (!stream.reader) open(instanceId, stream);
        stream.reader?.drain();
        stream.reader?.close();
        followers.end(stream.source);
        files.letGo(stream.file);
      }
      attached.delete(instanceId);
    },
    follow: followers.add,
    notices() {
      const waiting = [...attached.values()].flat().filter((stream) => stream.isWaiting);
      const names = [...new Set(waiting.map((stream) => stream.source.slot.name))];
      return [...names.map((name) => `The output of "${name}" waits: its pipe cannot be opened.`), ...files.notices()];
    },
  };
}

/**
 * @param {LogPlace} place
 * @returns {Stream[]}
 */
function streamsOf({ id, name, outPipe, errPipe, outFile, errorFile }) {
  const source = (/** @type {LogStream} */ stream) => ({ slot: { id, name }, stream, splitter: null });
  return [
    { source: source('out'), pipe: outPipe, file: outFile, reader: null, isWaiting: false, lastLines: null },
    { source: source('err'), pipe: errPipe, file: errorFile, reader: null, isWaiting: false, lastLines: createLastLines() },
  ];
}

/**
 * Files that are written to, each open once however many instances share it.
 * @param {() => number} nowMs
 */
function createFileTable(nowMs) {
  /** @type {Map<string, {file: import('./log-file.js').LogFile, holders: number}>} */
  const table = new Map();
  return {
    /** @param {string} path */
    hold(path) {
      if (path === '') return;
      const entry = table.get(path) ?? { file: createLogFile(path, nowMs), holders: 0 };
      entry.holders += 1;
      table.set(path, entry);
    },
    /** @param {string} path */
    letGo(path) {
      const entry = table.get(path);
      if (!entry) return;
      entry.holders -= 1;
      if (entry.holders > 0) return;
      entry.file.close();
      // What it lost is still to be told.
      if (entry.file.notice() === null) table.delete(path);
    },
    /** @param {string} path @param {Buffer} chunk */
    write(path, chunk) {
      table.get(path)?.file.write(chunk);
    },
    notices() {
      for (const [path, { file, holders }] of table) if (holders === 0 && file.notice() === null) table.delete(path);
      return [...table.values()].flatMap(({ file }) => file.notice() ?? []);
    },
  };
}
