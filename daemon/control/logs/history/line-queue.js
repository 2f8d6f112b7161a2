// Knows: the lines of one path that were read but not taken yet, the unfinished line after them,
// and the positions of these lines.
// Must not: open or look for a file; path-reader.js supplies the bytes.
// Start at: append().
import { createLineSplitter } from '../../../../lib/shared/daemon/lines.js';
import { UNKNOWN } from './contents.js';

/** @import { Part } from '../../../../lib/shared/daemon/lines.js' */
/** @import { Position } from '../write/open-file.js' */
/** @import { WrittenAt } from './content-reader.js' */

/**
 * @typedef {{ line: string, part: Part | null, to: Position } & WrittenAt} ReadLine  `part`: null
 *   for a whole line. `to`: where the next line begins.
 */

const NOTHING = Buffer.alloc(0);

export class LineQueue {
  #splitter = createLineSplitter();
  /** @type {ReadLine[]} */
  #lines = [];
  #nextAt = 0;
  /** Where the next bytes begin. @type {Position} */
  position;
  /**
   * Where a client continues: after the last line taken, or where the next content begins.
   * @type {Position}
   */
  readTo;
  /** When the unfinished line was started. @type {WrittenAt} */
  #heldWrittenAt = { atMs: null, sortMs: 0 };

  /** @param {Position} from */
  constructor(from) {
    this.position = from;
    this.readTo = from;
  }

  /** @returns {ReadLine | undefined} */
  get next() {
    return this.#lines[this.#nextAt];
  }

  /** @returns {ReadLine} */
  shift() {
    const line = this.#lines[this.#nextAt++];
    this.readTo = line.to;
    return line;
  }

  /**
   * @param {Buffer} bytes
   * @param {(offset: number) => WrittenAt} writtenAt
   */
  append(bytes, writtenAt) {
    const { startedAtMs, offset } = this.position;
    this.#forgetTaken();
    if (this.#splitter.heldBytes() === 0) this.#heldWrittenAt = writtenAt(offset);
    this.#splitter.cut(bytes, (line, toInBytes, part) => {
      const to = { startedAtMs, offset: offset + toInBytes };
      this.#lines.push({ line: line.toString('utf8'), part, ...this.#heldWrittenAt, to });
      this.#heldWrittenAt = writtenAt(to.offset);
    });
    this.position = { startedAtMs, offset: offset + bytes.length };
  }

  /**
   * @param {Position | null} before  Null: the end of the unfinished line.
   * @returns {boolean}  Whether the unfinished line begins before this position. These bytes then
   *   count as a line.
   */
  finishLine(before) {
    const held = this.#splitter.held();
    const part = this.#splitter.heldPart();
    const to = before ?? this.position;
    // If a file was rotated in the middle of the line, `before` is where the line begins.
    const bytes = to.startedAtMs === this.position.startedAtMs ? held.length - (this.position.offset - to.offset) : 0;
    if (bytes <= 0) return false;
    this.#forgetTaken();
    this.#splitter.precede(held.subarray(0, bytes), part !== null);
    for (const line of this.#splitter.end()) this.#lines.push({ line, part, ...this.#heldWrittenAt, to });
    this.#splitter.precede(held.subarray(bytes), false);
    return true;
  }

  /** Call this if the next bytes are the rest of a line whose beginning was not read. */
  startInsideLine() {
    this.#splitter.precede(NOTHING, true);
  }

  clear() {
    this.#lines = [];
    this.#nextAt = 0;
    this.#splitter.end();
  }

  /**
   * Call this if bytes are missing. Drops the unfinished line, and moves to the beginning of the
   * given content.
   * @param {number | null} startedAtMs  Identity of the content. Null: keeps the position.
   */
  skipTo(startedAtMs) {
    this.#splitter.end();
    if (startedAtMs !== null) this.moveTo(startedAtMs);
  }

  /**
   * Moves to the beginning of the next content. An unfinished line continues there, because a file
   * may be rotated in the middle of a line.
   * @param {number} startedAtMs
   */
  moveTo(startedAtMs) {
    this.position = { startedAtMs, offset: 0 };
    if (this.#splitter.heldBytes() === 0 && !this.next) this.readTo = this.position;
  }

  /**
   * Sets the identity of the content at the position. Until now, it was UNKNOWN.
   * @param {number} startedAtMs
   */
  identify(startedAtMs) {
    this.position = { ...this.position, startedAtMs };
    if (this.readTo.startedAtMs === UNKNOWN) this.readTo = { ...this.readTo, startedAtMs };
  }

  #forgetTaken() {
    this.#lines.splice(0, this.#nextAt);
    this.#nextAt = 0;
  }
}
