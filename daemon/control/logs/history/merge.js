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
  const heap = createHeap();
  const turn = createYield();
  for (const reader of readers) {
    if (signal.aborted) return;
    if (await reader.fill(signal)) heap.push(reader);
    open.note(reader);
    await yieldToEventLoop();
  }
  for (let reader = heap.first(); reader && !signal.aborted; reader = heap.first()) {
    const wait = take(reader, reader.shiftLine());
    if (wait) await wait;
    // A pattern may need 3 ms for each line.
    const pause = turn();
    if (pause) await pause;
    if (!reader.nextLine) {
      await yieldToEventLoop();
      const isMore = await reader.fill(signal);
      open.note(reader);
      if (!isMore) heap.pop();
    }
    heap.restoreOrder();
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
  const heap = createHeap();
  for (const reader of readers) if (reader.fillNow()) heap.push(reader);
  for (let reader = heap.first(); reader; reader = heap.first()) {
    if (performance.now() > endMono) return false;
    take(reader, reader.shiftLine());
    if (!reader.nextLine && !reader.fillNow()) heap.pop();
    heap.restoreOrder();
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

/** Sorts readers by the time of their next line. If times are equal, the order of push() counts. */
function createHeap() {
  /** @type {{ reader: PathReader, order: number }[]} */
  const heap = [];

  /**
   * @param {number} a
   * @param {number} b
   */
  function isBefore(a, b) {
    const one = heap[a];
    const other = heap[b];
    const differenceMs =
      /** @type {ReadLine} */ (one.reader.nextLine).sortMs - /** @type {ReadLine} */ (other.reader.nextLine).sortMs;
    return differenceMs < 0 || (differenceMs === 0 && one.order < other.order);
  }

  /**
   * @param {number} a
   * @param {number} b
   */
  function swap(a, b) {
    [heap[a], heap[b]] = [heap[b], heap[a]];
  }

  return {
    first: () => heap[0]?.reader,
    /** @param {PathReader} reader */
    push(reader) {
      let at = heap.push({ reader, order: heap.length }) - 1;
      for (let parent = (at - 1) >> 1; at > 0 && isBefore(at, parent); parent = (at - 1) >> 1) {
        swap(at, parent);
        at = parent;
      }
    },
    /** Removes the first reader. Call restoreOrder() next. */
    pop() {
      const last = heap.pop();
      if (last && heap.length > 0) heap[0] = last;
    },
    /** Call this when the next line of the first reader has changed. */
    restoreOrder() {
      for (let at = 0; ;) {
        const left = 2 * at + 1;
        if (left >= heap.length) return;
        const child = left + 1 < heap.length && isBefore(left + 1, left) ? left + 1 : left;
        if (!isBefore(child, at)) return;
        swap(child, at);
        at = child;
      }
    },
  };
}
