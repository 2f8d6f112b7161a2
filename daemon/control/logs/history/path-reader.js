// Knows: which content of one path is open, how far to read, and which content comes next.
// Must not: know other paths or clients. line-queue.js cuts lines, merge.js puts them in order.
// Start at: fill().
//
//               readUntil() sets another limit
//              +------------------------------+
//              v                              |
//           reading --- nothing is left --> exhausted
//              |                              |
//              +----------- stop() -----------+--> stopped
//
// In each state the content is open or closed: fill() opens it, closeFile() may come at any time.
import { isEmptied, isInsideLine, openContent, readLineTimes } from './content-reader.js';
import { contentAfter, findContent, UNKNOWN } from './contents.js';
import { LineQueue } from './line-queue.js';

/** @import { LogStream } from '../../../../lib/shared/wire/protocol.js' */
/** @import { UnfinishedLine } from '../hand-over.js' */
/** @import { Position } from '../write/open-file.js' */
/** @import { ContentReader, WrittenAt } from './content-reader.js' */
/** @import { Content, Shelf } from './contents.js' */
/** @import { ReadLine } from './line-queue.js' */

/**
 * A log file and the slot it belongs to; if several slots share it, the first.
 * @typedef {{ path: string, id: number, name: string, stream: LogStream }} KeptFile
 */

/**
 * @typedef {object} OpenContent
 * @property {Content} content
 * @property {ContentReader} reader
 * @property {(offset: number) => WrittenAt} writtenAt
 */

/** Every content of the path. @type {Position} */
const TO_THE_END = { startedAtMs: UNKNOWN, offset: Infinity };

/**
 * Reads the lines of one path forward, through its segments, from a position that stays right if
 * the file is rotated, compressed or removed while it is read.
 */
export class PathReader {
  #shelf;
  #blockBytes;
  #lines;
  /** @type {'reading' | 'exhausted' | 'stopped'} */
  #state = 'reading';
  /** @type {OpenContent | null} */
  #open = null;
  /** The first content may be opened in the middle of a line. */
  #wasOpened = false;
  #limit = TO_THE_END;
  #isLimitFinal = true;

  /** Bytes are missing before the next line. The caller resets it. */
  isGap = false;

  /**
   * @param {KeptFile} file
   * @param {Position} from
   * @param {Shelf} shelf
   * @param {number} blockBytes
   */
  constructor(file, from, shelf, blockBytes) {
    this.file = file;
    this.#shelf = shelf;
    this.#blockBytes = blockBytes;
    this.#lines = new LineQueue(from);
  }

  /**
   * Sets how far to read.
   * @param {Position} limit
   * @param {boolean} isFinal  Nothing will be written behind it: an unfinished line is a line.
   */
  readUntil(limit, isFinal) {
    const { startedAtMs, offset } = this.#limit;
    const isSame = limit.startedAtMs === startedAtMs && limit.offset === offset && isFinal === this.#isLimitFinal;
    if (this.#state === 'exhausted' && !isSame) this.#state = 'reading';
    this.#limit = limit;
    this.#isLimitFinal = isFinal;
  }

  /** For good. Lines that were not taken are dropped. */
  stop() {
    this.#state = 'stopped';
    this.#lines.clear();
  }

  /** Closes the file until the next read. */
  closeFile() {
    this.#open?.reader.close();
    this.#open = null;
  }

  get isOpen() {
    return this.#open !== null;
  }

  /** All lines up to the limit have been read. */
  get isExhausted() {
    return this.#state !== 'reading';
  }

  /** How many bytes are left to read. Infinity: not known. */
  get leftBytes() {
    if (this.isExhausted) return 0;
    const { startedAtMs, offset } = this.#lines.position;
    return startedAtMs === this.#limit.startedAtMs ? this.#limit.offset - offset : Infinity;
  }

  /** @returns {Promise<boolean>}  Whether there is a next line. */
  async fill() {
    while (!this.nextLine && !this.isExhausted) {
      const reader = this.#openForReading();
      const bytes = this.#bytesToRead();
      this.#accept(reader && (await (bytes > 0 ? reader.read(bytes) : null)));
    }
    return this.nextLine !== undefined;
  }

  /**
   * The same in this turn, up to a compressed segment.
   * @returns {boolean}
   */
  fillNow() {
    while (!this.nextLine && !this.isExhausted) {
      const reader = this.#openForReading();
      if (reader && !reader.readNow) return false;
      const bytes = this.#bytesToRead();
      this.#accept(reader?.readNow && bytes > 0 ? reader.readNow(bytes) : null);
    }
    return this.nextLine !== undefined;
  }

  /** @returns {ReadLine | undefined} */
  get nextLine() {
    return this.#lines.next;
  }

  /** @returns {ReadLine}  Only when there is a next line. */
  takeLine() {
    return this.#lines.take();
  }

  /** Where the line ends that was taken last. */
  get takenTo() {
    return this.#lines.takenTo;
  }

  /**
   * The line at the end that was not finished yet, when all lines have been taken.
   * @returns {UnfinishedLine | null}
   */
  unfinishedLine() {
    const unfinished = this.#lines.unfinished();
    if (!unfinished) return null;
    const { path, id, name, stream } = this.file;
    const { atMs, ...line } = unfinished;
    return { path, ...line, entry: { id, name, stream, atMs } };
  }

  /** @param {Buffer | null} block  Null: there are no more bytes in this content. */
  #accept(block) {
    if (block) this.#lines.append(block, /** @type {OpenContent} */ (this.#open).writtenAt);
    else if (!this.#advance() && !(this.#isLimitFinal && this.#lines.finishLine())) this.#state = 'exhausted';
  }

  /** @returns {ContentReader | null}  Null: there is nothing to read. */
  #openForReading() {
    if (this.#isAtLimit()) return null;
    if (this.#open && isEmptied(this.#open.content, this.#open.reader, this.#shelf)) this.closeFile();
    // The second try finds a content that was compressed or removed before it could be opened.
    if (!this.#open && !this.#openAtPosition()) this.#openAtPosition();
    return this.#open?.reader ?? null;
  }

  /** @returns {boolean} */
  #openAtPosition() {
    const { content, isGap } = findContent(this.file.path, this.#lines.position, this.#shelf);
    if (isGap) this.#skipTo(content);
    if (!content) return false;
    if (this.#lines.position.startedAtMs === UNKNOWN) this.#lines.identify(content.startedAtMs);
    const { offset } = this.#lines.position;
    const reader = openContent(content, offset);
    if (!reader) return false;
    if (!this.#wasOpened && isInsideLine(reader, offset)) this.#lines.startInsideLine();
    this.#wasOpened = true;
    this.#open = { content, reader, writtenAt: readLineTimes(content, reader, this.#shelf.timesFolder) };
    return true;
  }

  /** @returns {boolean}  Whether there is a next content before the limit. */
  #advance() {
    if (this.#isAtLimit()) return false;
    const { content, isGap } = contentAfter(this.file.path, this.#lines.position.startedAtMs, this.#shelf);
    if (!content) return false;
    const isTorn = this.#open?.reader.isTorn() ?? false;
    this.closeFile();
    if (isGap || isTorn) this.#skipTo(content);
    else this.#lines.moveTo(content.startedAtMs);
    return true;
  }

  /** @param {Content | null} content  Bytes before it are missing. */
  #skipTo(content) {
    this.isGap = true;
    this.#lines.dropUnfinished();
    if (content) this.#lines.moveTo(content.startedAtMs);
  }

  #isAtLimit() {
    const { startedAtMs } = this.#limit;
    return this.leftBytes <= 0 || (startedAtMs > 0 && this.#lines.position.startedAtMs > startedAtMs);
  }

  /** Opening a content may have moved the position to the limit: then 0. */
  #bytesToRead() {
    return this.#isAtLimit() ? 0 : Math.min(this.#blockBytes, this.leftBytes);
  }
}
