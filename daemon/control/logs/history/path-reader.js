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
// In each state the content is open or closed: fill() opens it, closeFile() closes it between two
// reads.
import { createYield } from '../../../../lib/shared/yield.js';
import { statFile } from '../archive/segments.js';
import { isSamePosition } from '../write/open-file.js';
import { isInsideLine, openContent, readLineTimes } from './content-reader.js';
import { findContentAfter, findContent, UNKNOWN } from './contents.js';
import { LineQueue } from './line-queue.js';

/** @import { User } from '../../../../lib/shared/host/user-path.js' */
/** @import { LogStream } from '../../../../lib/shared/wire/protocol.js' */
/** @import { Position } from '../write/open-file.js' */
/** @import { ContentReader, WrittenAt } from './content-reader.js' */
/** @import { Content, HistorySource } from './contents.js' */

/**
 * A log file and its slot. If several slots share the file, the first of these slots.
 * @typedef {object} KeptFile
 * @property {string} path
 * @property {User | null} user
 * @property {number} id
 * @property {string} name
 * @property {LogStream} stream
 */

/**
 * @typedef {object} OpenContent
 * @property {Content} content
 * @property {ContentReader} reader
 * @property {(offset: number) => WrittenAt} writtenAt
 */

/** No limit: all contents of the path are read. @type {Position} */
const TO_THE_END = { startedAtMs: UNKNOWN, offset: Infinity };

/** Reads the lines of a path. Continues after a file was rotated, compressed or removed. */
export class PathReader {
  #source;
  #blockBytes;
  /** @type {'reading' | 'exhausted' | 'stopped'} */
  #state = 'reading';
  /** @type {OpenContent | null} */
  #open = null;
  /** Whether a content was opened before. Only the first read can begin inside a line. */
  #wasOpened = false;
  #limit = TO_THE_END;
  /** @type {Position | null} */
  #heldFrom = null;

  /** Whether bytes are missing before the next line. The caller resets this flag. */
  isGap = false;

  /**
   * @param {KeptFile} file
   * @param {Position} from
   * @param {HistorySource} source
   * @param {number} blockBytes
   */
  constructor(file, from, source, blockBytes) {
    this.file = file;
    this.#source = source;
    this.#blockBytes = blockBytes;
    /** The lines that were read but not taken yet. */
    this.lines = new LineQueue(from);
  }

  /**
   * @param {Position} limit
   * @param {Position | null} heldFrom  The bytes of the last line before this position count as a
   *   line, and the rest of the line comes from elsewhere. Null: all bytes count.
   */
  readUntil(limit, heldFrom) {
    const isSame = isSamePosition(this.#limit, limit) && isSamePosition(this.#heldFrom, heldFrom);
    if (this.#state === 'exhausted' && !isSame) this.#state = 'reading';
    this.#limit = limit;
    this.#heldFrom = heldFrom;
  }

  /** Stops for good. Lines that were not taken are dropped. */
  stop() {
    this.#state = 'stopped';
    this.lines.clear();
  }

  /** Closes the file until the next read. */
  closeFile() {
    this.#open?.reader.close();
    this.#open = null;
  }

  get isOpen() {
    return this.#open !== null;
  }

  /** Whether the reader has read everything up to its limit. After stop(), always true. */
  get isExhausted() {
    return this.#state !== 'reading';
  }

  /** Bytes left to read. Infinity: not known. */
  get leftBytes() {
    if (this.isExhausted) return 0;
    const { startedAtMs, offset } = this.lines.position;
    return startedAtMs === this.#limit.startedAtMs ? this.#limit.offset - offset : Infinity;
  }

  /**
   * Reads until there is a next line, or nothing is left.
   * @param {AbortSignal} signal
   */
  async fill(signal) {
    const turn = createYield();
    while (!this.lines.next && !this.isExhausted && !signal.aborted) {
      const pause = turn();
      if (pause) await pause;
      const open = this.#openForReading();
      const bytes = this.#bytesToRead();
      this.#accept(open && (await (bytes > 0 ? open.reader.read(bytes) : null)), open);
    }
  }

  /** Like fill(), but in this turn. Stops at a compressed segment. */
  fillNow() {
    while (!this.lines.next && !this.isExhausted) {
      const open = this.#openForReading();
      const readNow = open?.reader.readNow;
      if (open && !readNow) return;
      const bytes = this.#bytesToRead();
      this.#accept(readNow && bytes > 0 ? readNow(bytes) : null, open);
    }
  }

  /**
   * @param {Buffer | null} block  Null: no bytes could be read, usually at the end of the content.
   * @param {OpenContent | null} open
   */
  #accept(block, open) {
    if (block && open) this.lines.append(block, open.writtenAt);
    else if (!this.#advance() && !this.lines.finishLine(this.#heldFrom)) this.#state = 'exhausted';
  }

  /** @returns {OpenContent | null}  Null: the limit is reached, or no content can be opened. */
  #openForReading() {
    if (this.#isAtLimit()) return null;
    if (this.#open && hasNewIdentity(this.#open, this.#source)) this.closeFile();
    // The first try fails if the content was compressed or removed after findContent() found it.
    // The second try then finds the compressed file or the next content.
    if (!this.#open && !this.#openAtPosition()) this.#openAtPosition();
    return this.#open;
  }

  /** @returns {boolean} */
  #openAtPosition() {
    const { content, isGap } = findContent(this.file.path, this.lines.position, this.#source);
    if (isGap) this.#skipTo(content);
    if (!content) return false;
    if (this.lines.position.startedAtMs === UNKNOWN) this.lines.identify(content.startedAtMs);
    const { offset } = this.lines.position;
    const reader = openContent(content, offset);
    if (!reader) return false;
    if (!this.#wasOpened && isInsideLine(reader, offset)) this.lines.startInsideLine();
    this.#wasOpened = true;
    this.#open = { content, reader, writtenAt: readLineTimes(content, reader, this.#source.timesFolder) };
    return true;
  }

  /** Moves to the next content. @returns {boolean}  False: no content follows before the limit. */
  #advance() {
    if (this.#isAtLimit()) return false;
    const { content, isGap } = findContentAfter(this.file.path, this.lines.position.startedAtMs, this.#source);
    if (!content) return false;
    const isTorn = this.#open?.reader.isTorn() ?? false;
    this.closeFile();
    if (isGap || isTorn) this.#skipTo(content);
    else this.lines.moveTo(content.startedAtMs);
    return true;
  }

  /** @param {Content | null} content  The bytes before this content are missing. */
  #skipTo(content) {
    this.isGap = true;
    this.lines.skipTo(content?.startedAtMs ?? null);
  }

  #isAtLimit() {
    const { startedAtMs } = this.#limit;
    return this.leftBytes <= 0 || (startedAtMs > 0 && this.lines.position.startedAtMs > startedAtMs);
  }

  /** Returns 0 if opening a content has moved the position to the limit. */
  #bytesToRead() {
    return this.#isAtLimit() ? 0 : Math.min(this.#blockBytes, this.leftBytes);
  }
}

/**
 * Whether the open file now counts as another content, because it was truncated or has got times.
 * @param {OpenContent} open
 * @param {HistorySource} source
 */
function hasNewIdentity({ content: { file, user, startedAtMs, endedAtMs }, reader }, { positionOf }) {
  if (endedAtMs !== null) return false;
  const next = positionOf(file);
  return next !== null && next.startedAtMs !== startedAtMs && statFile(file, user)?.ino === reader.stat().ino;
}
