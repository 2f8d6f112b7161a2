/** @import { LogStream } from '../../../../lib/shared/wire/protocol.js' */

/** @typedef {{ line: string, stream: LogStream, atMs: number, id: number }} ShippedLine */

/** Added to the length of each line, because even empty lines need memory. */
const LINE_BYTES = 64;

/**
 * Lines that wait to be sent. A full backlog drops its oldest lines.
 * @typedef {object} Backlog
 * @property {(stream: LogStream, lines: string[], atMs: number, id: number) => number} add
 *   Returns the number of lines it dropped.
 * @property {(maxBytes: number) => ShippedLine[]} shift  Removes and returns the oldest lines: at
 *   least one line, unless the backlog is empty.
 * @property {(lines: ShippedLine[]) => void} putBack  Inserts the lines of the last shift() again.
 * @property {() => number} clear  Returns the number of removed lines.
 * @property {() => boolean} isEmpty
 */

/**
 * @param {number} maxBytes  Approximate: a character counts as one byte.
 * @returns {Backlog}
 */
export function createBacklog(maxBytes) {
  /** @type {ShippedLine[]} */
  let lines = [];
  let from = 0;
  let bytes = 0;

  function shift() {
    const first = lines[from++];
    bytes -= measureSize(first);
    // Frees the removed lines only now and then, because slice() copies all other lines.
    if (from > 1_000 && from * 2 > lines.length) {
      lines = lines.slice(from);
      from = 0;
    }
    return first;
  }

  const isEmpty = () => from === lines.length;

  return {
    add(stream, added, atMs, id) {
      let dropped = 0;
      for (const line of added) {
        const entry = { line, stream, atMs, id };
        lines.push(entry);
        bytes += measureSize(entry);
      }
      for (; bytes > maxBytes && !isEmpty(); dropped++) shift();
      return dropped;
    },
    shift(maxTaken) {
      /** @type {ShippedLine[]} */
      const taken = [];
      for (let size = 0; !isEmpty();) {
        size += measureSize(lines[from]);
        if (size > maxTaken && taken.length > 0) break;
        taken.push(shift());
      }
      return taken;
    },
    putBack(taken) {
      lines = [...taken, ...lines.slice(from)];
      from = 0;
      bytes += taken.reduce((sum, entry) => sum + measureSize(entry), 0);
    },
    clear() {
      const count = lines.length - from;
      lines = [];
      from = 0;
      bytes = 0;
      return count;
    },
    isEmpty,
  };
}

/** @param {ShippedLine} entry */
function measureSize({ line }) {
  return line.length + LINE_BYTES;
}
