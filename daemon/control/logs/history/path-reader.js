import { createLineSplitter } from '../lines.js';
import { isEmptied, isInsideLine, openContent, readLineTimes } from './content-reader.js';
import { contentAfter, findContent, UNKNOWN } from './contents.js';

/** @import { Part } from '../../../../lib/shared/logs/filter.js' */
/** @import { LogStream } from '../../../../lib/shared/wire/protocol.js' */
/** @import { Position } from '../write/open-file.js' */
/** @import { ContentReader, WrittenAt } from './content-reader.js' */
/** @import { Content, Shelf } from './contents.js' */

/**
 * A log file and whose it is; of one that several share, the first.
 * @typedef {{ path: string, id: number, name: string, stream: LogStream }} KeptFile
 */

/**
 * `part`: null for a whole line. `to`: where the next line begins.
 * @typedef {{ line: string, part: Part | null, to: Position } & WrittenAt} ReadLine
 */

const NOTHING = Buffer.alloc(0);

/**
 * @typedef {{ content: Content, reader: ContentReader, writtenAt: (offset: number) => WrittenAt }} Open
 */

/** Where a path ends is not asked before: it is read until nothing is left. @type {Position} */
export const TO_THE_END = { startedAtMs: UNKNOWN, offset: Infinity };

/**
 * Reads the lines of one path forward, through its segments, from a place that stays right when the
 * file is rotated, compressed or removed meanwhile.
 */
export class PathReader {
  #shelf;
  #chunkBytes;
  #splitter = createLineSplitter();
  /** @type {ReadLine[]} */
  #lines = [];
  #nextLine = 0;
  /** @type {Open | null} */
  #open = null;
  /** What is read next. @type {Position} */
  #at;
  /** Where what was read ends. @type {Position} */
  #end;
  /** Where the line begins that the splitter holds, and when that was. */
  #lineFrom;
  /** @type {WrittenAt} */
  #lineTime = { atMs: null, sortMs: 0 };
  /** @type {Position} */
  #limit = TO_THE_END;
  #isEnd = true;

  #isStopped = false;

  #isBegun = false;

  /** Everything up to the limit has been read. */
  isExhausted = false;

  /** Something is missing before the next line. */
  isGap = false;

  /**
   * @param {KeptFile} file
   * @param {Position} from
   * @param {Shelf} shelf
   * @param {number} chunkBytes
   */
  constructor(file, from, shelf, chunkBytes) {
    this.file = file;
    this.#shelf = shelf;
    this.#chunkBytes = chunkBytes;
    this.#at = { ...from };
    this.#end = { ...from };
    this.#lineFrom = { ...from };
    /** The end of what has been taken. @type {Position} */
    this.done = { ...from };
  }

  /**
   * How far to read, until it is set further.
   * @param {Position} limit
   * @param {boolean} isEnd  Nothing will come after it: a line without an end is a line.
   */
  readUntil(limit, isEnd) {
    this.isExhausted &&=
      this.#isStopped ||
      (limit.startedAtMs === this.#limit.startedAtMs && limit.offset === this.#limit.offset && isEnd === this.#isEnd);
    this.#limit = limit;
    this.#isEnd = isEnd;
  }

  /** There is nothing more in it for us. */
  stop() {
    this.#isStopped = true;
    this.isExhausted = true;
    this.#lines = [];
    this.#splitter.end();
  }

  /** Whether it holds on to something of the system. */
  get isOpen() {
    return this.#open !== null;
  }

  /**
   * The next line, when fill() said that there is one.
   * @returns {ReadLine | undefined}
   */
  get next() {
    return this.#lines[this.#nextLine];
  }

  /** @returns {ReadLine} */
  take() {
    const line = this.#lines[this.#nextLine++];
    this.done = line.to;
    return line;
  }

  /** @returns {Promise<boolean>}  Whether there is a line. */
  async fill() {
    while (!this.next && !this.isExhausted) {
      const reader = this.#canRead() ? this.#open?.reader : null;
      const bytes = this.#bytesToRead();
      this.#use(reader && bytes > 0 ? await reader.read(bytes) : null);
    }
    return this.next !== undefined;
  }

  /**
   * The same in this turn; a compressed segment is not read.
   * @returns {boolean}
   */
  fillNow() {
    while (!this.next && !this.isExhausted) {
      const reader = this.#canRead() ? this.#open?.reader : null;
      if (reader && !reader.readNow) return false;
      const bytes = this.#bytesToRead();
      this.#use(reader?.readNow && bytes > 0 ? reader.readNow(bytes) : null);
    }
    return this.next !== undefined;
  }

  /** @param {Buffer | null} chunk */
  #use(chunk) {
    if (chunk) this.#take(chunk);
    else if (!this.#goOn() && !this.#endLine()) this.isExhausted = true;
  }

  #canRead() {
    return !this.#isAtLimit() && this.#begin();
  }

  /** How many bytes are left to read. Infinity: nobody knows. */
  get leftBytes() {
    if (this.isExhausted) return 0;
    return this.#at.startedAtMs === this.#limit.startedAtMs ? this.#limit.offset - this.#at.offset : Infinity;
  }

  /**
   * The line that has no end yet, once everything has been taken.
   * @returns
   *   {{ bytes: Buffer, part: Part | null, from: Position, end: Position, continuesAt: Position, atMs: number | null } | null}
   */
  tail() {
    const bytes = this.#splitter.held();
    return bytes.length === 0
      ? null
      : {
          bytes,
          part: this.#splitter.heldPart(),
          from: this.#lineFrom,
          end: this.#end,
          continuesAt: { ...this.#at },
          atMs: this.#lineTime.atMs,
        };
  }

  /** Lets go of the file for now. */
  rest() {
    this.#open?.reader.close();
    this.#open = null;
  }

  /** @returns {boolean}  Whether there is something to read from. */
  #begin() {
    if (this.#open && isEmptied(this.#open.content, this.#open.reader, this.#shelf)) this.rest();
    // What is compressed or removed between a look and opening is found by the second look.
    return this.#open !== null || this.#look() || this.#look();
  }

  #look() {
    const { content, isGap } = findContent(this.file.path, this.#at, this.#shelf);
    if (isGap) this.#jumpTo(content);
    if (!content) return false;
    if (this.#at.startedAtMs === UNKNOWN) this.#identify(content.startedAtMs);
    return this.#openAt(content);
  }

  /**
   * Its times have been begun since.
   * @param {number} startedAtMs
   */
  #identify(startedAtMs) {
    if (this.#lineFrom.startedAtMs === UNKNOWN) this.#lineFrom = { ...this.#lineFrom, startedAtMs };
    if (this.done.startedAtMs === UNKNOWN) this.done = { ...this.done, startedAtMs };
    this.#at = { ...this.#at, startedAtMs };
  }

  /** @param {Content} content */
  #openAt(content) {
    const reader = openContent(content, this.#at.offset);
    if (!reader) return false;
    if (!this.#isBegun && isInsideLine(reader, this.#at.offset))
      this.#splitter.precede(NOTHING, { line: {}, isFirst: false });
    this.#isBegun = true;
    this.#open = { content, reader, writtenAt: readLineTimes(content, reader, this.#shelf.timesFolder) };
    return true;
  }

  #bytesToRead() {
    return this.#isAtLimit() ? 0 : Math.min(this.#chunkBytes, this.leftBytes);
  }

  #isAtLimit() {
    const { startedAtMs } = this.#limit;
    return this.leftBytes <= 0 || (startedAtMs > 0 && this.#at.startedAtMs > startedAtMs);
  }

  /**
   * Nothing more is to be read here.
   * @returns {boolean}  Whether there is something else.
   */
  #goOn() {
    if (this.#isAtLimit()) return false;
    const { content, isGap } = contentAfter(this.file.path, this.#at.startedAtMs, this.#shelf);
    if (!content) return false;
    const isTorn = this.#open?.reader.isTorn() ?? false;
    this.rest();
    if (isGap || isTorn) this.#jumpTo(content);
    else this.#moveTo(content);
    return true;
  }

  /** @returns {boolean}  Whether there was a line without an end. */
  #endLine() {
    if (!this.#isEnd || this.#splitter.heldBytes() === 0) return false;
    const to = { ...this.#at };
    const part = this.#splitter.heldPart();
    this.#lines = this.#splitter.end().map((line) => ({ line, part, ...this.#lineTime, to }));
    this.#nextLine = 0;
    this.#lineFrom = to;
    return true;
  }

  /**
   * The line that is not ended goes on there: a file may be rotated in the middle of one.
   * @param {Content} content
   */
  #moveTo(content) {
    this.#at = { startedAtMs: content.startedAtMs, offset: 0 };
    if (this.#splitter.heldBytes() > 0) return;
    this.#lineFrom = { ...this.#at };
    if (this.#nextLine >= this.#lines.length) this.done = { ...this.#at };
  }

  /** @param {Content | null} content */
  #jumpTo(content) {
    this.isGap = true;
    this.#splitter.end();
    if (content) this.#moveTo(content);
  }

  /** @param {Buffer} chunk */
  #take(chunk) {
    const { writtenAt } = /** @type {Open} */ (this.#open);
    const { startedAtMs, offset } = this.#at;
    this.#lines = [];
    this.#nextLine = 0;
    if (this.#splitter.heldBytes() === 0) this.#lineTime = writtenAt(offset);
    this.#splitter.cut(chunk, (bytes, toInChunk, part) => {
      const to = { startedAtMs, offset: offset + toInChunk };
      this.#lines.push({ line: bytes.toString('utf8'), part, ...this.#lineTime, to });
      this.#lineFrom = to;
      this.#lineTime = writtenAt(to.offset);
    });
    this.#at = { startedAtMs, offset: offset + chunk.length };
    this.#end = { ...this.#at };
  }
}
