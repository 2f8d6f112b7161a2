// Knows: the lines of one path that were read but not taken yet, the unfinished line after them,
// and the positions of these lines.
// Must not: open or look for a file; path-reader.js supplies the bytes.
// Start at: append().
import { createLineSplitter } from '../../../../lib/shared/daemon/lines.js';
import { UNKNOWN } from './contents.js';

/** @import { Part } from '../../../../lib/shared/daemon/lines.js' */
/** @import { UnfinishedLine } from '../hand-over.js' */
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
  /** @type {Position} */
  #position;
  /** @type {Position} */
  #takenTo;
  /** Where the unfinished line begins. @type {Position} */
  #heldFrom;
  /** When the unfinished line was started. @type {WrittenAt} */
  #heldWrittenAt = { atMs: null, sortMs: 0 };
  /** The end of the bytes that were appended last. @type {Position} */
  #appendedTo;

  /** @param {Position} from */
  constructor(from) {
    this.#heldFrom = from;
    this.#appendedTo = from;
    this.#position = from;
    this.#takenTo = from;
  }

  get position() {
    return this.#position;
  }

  /** Where a client continues: after the last line taken, or where the next content begins. */
  get readTo() {
    return this.#takenTo;
  }

  /** @returns {ReadLine | undefined} */
  get next() {
    return this.#lines[this.#nextAt];
  }

  /** @returns {ReadLine} */
  shift() {
    const line = this.#lines[this.#nextAt++];
    this.#takenTo = line.to;
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
      this.#heldFrom = to;
      this.#heldWrittenAt = writtenAt(to.offset);
    });
    this.#position = { startedAtMs, offset: offset + bytes.length };
    this.#appendedTo = this.position;
  }

  /** @returns {boolean}  Whether there was an unfinished line, which now counts as a line. */
  finishLine() {
    if (this.#splitter.heldBytes() === 0) return false;
    const to = this.position;
    const part = this.#splitter.heldPart();
    this.#forgetTaken();
    for (const line of this.#splitter.end()) this.#lines.push({ line, part, ...this.#heldWrittenAt, to });
    this.#heldFrom = to;
    return true;
  }

  /** Call this if the next bytes are the rest of a line whose beginning was not read. */
  startInsideLine() {
    this.#splitter.precede(NOTHING, { line: {}, isFirst: false, isLast: true });
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
    this.#position = { startedAtMs, offset: 0 };
    if (this.#splitter.heldBytes() > 0) return;
    this.#heldFrom = this.position;
    if (!this.next) this.#takenTo = this.position;
  }

  /**
   * Sets the identity of the content at the position. Until now, it was UNKNOWN.
   * @param {number} startedAtMs
   */
  identify(startedAtMs) {
    this.#position = { ...this.position, startedAtMs };
    if (this.#heldFrom.startedAtMs === UNKNOWN) this.#heldFrom = { ...this.#heldFrom, startedAtMs };
    if (this.readTo.startedAtMs === UNKNOWN) this.#takenTo = { ...this.readTo, startedAtMs };
  }

  /** @returns {(Omit<UnfinishedLine, 'path' | 'entry'> & { atMs: number | null }) | null} */
  unfinished() {
    const bytes = this.#splitter.held();
    if (bytes.length === 0) return null;
    return {
      bytes,
      part: this.#splitter.heldPart(),
      from: this.#heldFrom,
      end: this.#appendedTo,
      continuesAt: this.position,
      atMs: this.#heldWrittenAt.atMs,
    };
  }

  #forgetTaken() {
    this.#lines.splice(0, this.#nextAt);
    this.#nextAt = 0;
  }
}
