/** @import { PathReader, ReadLine } from './path-reader.js' */

/** Files that are open at the same time, or being decompressed: 80 KiB of memory each. */
const OPEN_MAX = 128;

/**
 * Gives up control's loop for a moment.
 * @returns {Promise<void>}
 */
export function breathe() {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/**
 * Reads many paths in the order of time, each until its limit.
 * @param {PathReader[]} readers
 * @param {(reader: PathReader, line: ReadLine) => Promise<unknown> | null} take  What it returns is
 *   waited for.
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
export async function mergeLines(readers, take, signal) {
  const open = createOpenOnes();
  const heap = createHeap();
  for (const reader of readers) {
    if (signal.aborted) return;
    if (await reader.fill()) heap.push(reader);
    open.use(reader);
    await breathe();
  }
  for (let reader = heap.first(); reader && !signal.aborted; reader = heap.first()) {
    const wait = take(reader, reader.take());
    if (wait) await wait;
    if (!reader.next) {
      await breathe();
      const isMore = await reader.fill();
      open.use(reader);
      if (!isMore) heap.pop();
    }
    heap.settle();
  }
}

/**
 * The same for what can be read in this turn.
 * @param {PathReader[]} readers
 * @param {(reader: PathReader, line: ReadLine) => void} take
 */
export function mergeLinesNow(readers, take) {
  const heap = createHeap();
  for (const reader of readers) if (reader.fillNow()) heap.push(reader);
  for (let reader = heap.first(); reader; reader = heap.first()) {
    take(reader, reader.take());
    if (!reader.next && !reader.fillNow()) heap.pop();
    heap.settle();
  }
}

/** The one that was not used for the longest time lets go first. */
function createOpenOnes() {
  /** @type {Set<PathReader>} */
  const open = new Set();
  return {
    /** @param {PathReader} reader */
    use(reader) {
      open.delete(reader);
      if (reader.isOpen) open.add(reader);
      if (open.size <= OPEN_MAX) return;
      const [oldest] = open;
      oldest.rest();
      open.delete(oldest);
    },
  };
}

/**
 * Readers that have a line, the one with the earliest first; of the same moment, in the order they
 * came in.
 */
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
      /** @type {ReadLine} */ (one.reader.next).sortMs - /** @type {ReadLine} */ (other.reader.next).sortMs;
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
    /** Removes the first; settle() follows. */
    pop() {
      const last = heap.pop();
      if (last && heap.length > 0) heap[0] = last;
    },
    /** The first has another line now. */
    settle() {
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
