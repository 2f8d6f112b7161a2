import { createYield, yieldToEventLoop } from '../../../../lib/shared/yield.js';

/** @import { ReadLine } from './line-queue.js' */
/** @import { PathReader } from './path-reader.js' */

/** Limit of contents that are open at the same time. Each needs 80 KiB of memory. */
const OPEN_MAX = 128;

/**
 * Reads the lines of many paths in the order of time. Reads each path up to its limit.
 * @param {PathReader[]} readers
 * @param {(reader: PathReader, line: ReadLine) => Promise<unknown> | null} take
 *   If `take` returns a promise, reading waits for the promise.
 * @param {AbortSignal} signal
 */
export async function mergeLines(readers, take, signal) {
  const open = createOpenReaders();
  const order = createOrder();
  const turn = createYield();
  for (const reader of readers) {
    if (signal.aborted) return;
    await reader.fill(signal);
    order.add(reader);
    open.note(reader);
    await yieldToEventLoop();
  }
  for (let reader = order.first(); reader && !signal.aborted; reader = order.first()) {
    const wait = take(reader, reader.lines.shift());
    if (wait) await wait;
    // A pattern may need 3 ms for each line.
    const pause = turn();
    if (pause) await pause;
    if (!reader.lines.next) {
      await yieldToEventLoop();
      await reader.fill(signal);
      open.note(reader);
    }
    order.update();
  }
}

/** Limit of mergeLinesNow(), because a pattern may need 3 ms for each line. */
const NOW_MS = 50;

/**
 * Like mergeLines(), but only for lines that can be read in this turn, and for NOW_MS.
 * @param {PathReader[]} readers
 * @param {(reader: PathReader, line: ReadLine) => void} take
 * @returns {boolean}  Whether all of these lines were taken.
 */
export function mergeLinesNow(readers, take) {
  const endMono = performance.now() + NOW_MS;
  const order = createOrder();
  for (const reader of readers) {
    reader.fillNow();
    order.add(reader);
  }
  for (let reader = order.first(); reader; reader = order.first()) {
    if (performance.now() > endMono) return false;
    take(reader, reader.lines.shift());
    reader.fillNow();
    order.update();
  }
  return true;
}

/** Closes the file of the least recently used reader when too many files are open. */
function createOpenReaders() {
  /** @type {Set<PathReader>} */
  const open = new Set();
  return {
    /** @param {PathReader} reader */
    note(reader) {
      open.delete(reader);
      if (reader.isOpen) open.add(reader);
      if (open.size <= OPEN_MAX) return;
      const [oldest] = open;
      oldest.closeFile();
      open.delete(oldest);
    },
  };
}

/** Sorts readers by the time of their next line. If times are equal, the order of add() counts. */
function createOrder() {
  /** @type {{ reader: PathReader, number: number, sortMs: number }[]} */
  const sorted = [];
  let count = 0;

  /**
   * @param {PathReader} reader
   * @param {number} number
   */
  function insert(reader, number) {
    if (!reader.lines.next) return;
    const { sortMs } = reader.lines.next;
    let from = 0;
    for (let to = sorted.length; from < to;) {
      const middle = (from + to) >> 1;
      const other = sorted[middle];
      if (sortMs < other.sortMs || (sortMs === other.sortMs && number < other.number)) to = middle;
      else from = middle + 1;
    }
    sorted.splice(from, 0, { reader, number, sortMs });
  }

  return {
    first: () => sorted[0]?.reader,
    /** @param {PathReader} reader */
    add: (reader) => insert(reader, count++),
    /** Call this when the next line of the first reader has changed. Without one, the reader leaves. */
    update() {
      const [{ reader, number, sortMs }] = sorted;
      if (reader.lines.next?.sortMs === sortMs) return;
      sorted.shift();
      insert(reader, number);
    },
  };
}
