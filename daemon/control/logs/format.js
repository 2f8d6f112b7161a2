import { isUtf8 } from 'node:buffer';
import { createRequire } from 'node:module';
import { createWholeLines } from '../../../lib/shared/daemon/lines.js';

/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { LogStream } from '../../../lib/shared/wire/protocol.js' */
/** @import { Piece } from '../../../lib/shared/daemon/lines.js' */

/** Chunks are formatted in small slices, because V8 is slow to free strings above 128 KiB. */
const SLICE_MAX_BYTES = 8 * 1024;
const SLICE_FIRST_BYTES = 1024;
const SLICE_MIN_BYTES = 256;
/** Slices become smaller if their text is longer than this. */
const TEXT_BYTES = 64 * 1024;

/** Size of the output buffer that all formats share. */
const PIECE_BYTES = 256 * 1024;

/** @type {Buffer | null} */
let piece = null;

/** Replaces line ends while JSON is escaped. UTF-8 text never contains this byte. */
const NO_UTF8 = '\u00ff';

/**
 * @typedef {object} LineFormat
 * @property {(chunk: Buffer, atMs: number) => Buffer} push
 *   Returns the lines that end in the chunk, formatted with the time `atMs`. A long line comes in
 *   parts. Empty: no line has ended yet.
 * @property {(chunk: Buffer, atMs: number, take: (lines: Buffer) => void) => void} each
 *   Like push(), but passes small pieces to `take`, because formatting can make empty lines a
 *   hundred times longer. A piece is valid until `take` returns.
 * @property {() => Buffer} end  Returns the unfinished line with a line end.
 */

/**
 * @typedef {(bytes: Buffer, atMs: number, isPart: boolean) => string} Writer  Turns a piece into
 *   text with one character per byte.
 */

/**
 * @param {object} o
 * @param {AppSpec['logType']} o.logType
 * @param {AppSpec['logDateFormat']} o.logDateFormat
 * @param {AppSpec['name']} o.name
 * @param {number} o.id
 * @param {LogStream} o.stream
 * @param {() => number} o.nowMs
 * @returns {LineFormat | null}  Null: chunks go to the file unchanged.
 */
export function createLineFormat({ logType, logDateFormat, name, id, stream, nowMs }) {
  const dateOf = logDateFormat === null ? null : createDateFormat(logDateFormat);
  if (logType !== 'json') return dateOf && chooseFormat(prefixWriter(dateOf), nowMs);
  const getIsoDate = (/** @type {number} */ atMs) => new Date(atMs).toISOString();
  return chooseFormat(jsonWriter({ name, id, stream, dateOf: dateOf ?? getIsoDate }), nowMs);
}

/**
 * Passes lines on unchanged but whole, for a file with the lines of several streams.
 * @returns {Omit<LineFormat, 'each'>}
 */
export function createPlainFormat() {
  const lines = createWholeLines();
  return {
    push: (chunk) => join(lines.push(chunk).map(({ bytes }) => bytes)),
    end: () => join(lines.end().map(({ bytes }) => bytes)),
  };
}

/**
 * @param {Writer} write
 * @param {() => number} nowMs
 * @returns {LineFormat}
 */
function chooseFormat(write, nowMs) {
  const lines = createWholeLines();
  const written = (/** @type {Piece[]} */ pieces, /** @type {number} */ atMs) =>
    join(pieces.map(({ bytes, isPart }) => Buffer.from(write(bytes, atMs, isPart), 'latin1')));
  let sliceBytes = SLICE_FIRST_BYTES;
  return {
    push: (chunk, atMs) => written(lines.push(chunk), atMs),
    each(chunk, atMs, take) {
      const gathered = createPiece(take);
      for (let from = 0, size = 0; from < chunk.length; from += size) {
        size = Math.min(sliceBytes, chunk.length - from);
        let chars = 0;
        for (const { bytes, isPart } of lines.push(chunk.subarray(from, from + size)))
          chars += gathered.add(write(bytes, atMs, isPart));
        sliceBytes = Math.max(
          SLICE_MIN_BYTES,
          Math.min(SLICE_MAX_BYTES, chars === 0 ? SLICE_MAX_BYTES : Math.floor((TEXT_BYTES * size) / chars)),
        );
      }
      gathered.finish();
    },
    end: () => written(lines.end(), nowMs()),
  };
}

/** @param {(lines: Buffer) => void} take */
function createPiece(take) {
  const buffer = (piece ??= Buffer.allocUnsafeSlow(PIECE_BYTES));
  let used = 0;

  function finish() {
    const bytes = used;
    used = 0;
    if (bytes > 0) take(buffer.subarray(0, bytes));
  }

  return {
    /**
     * @param {string} text  One character per byte.
     * @returns {number}  The size of the text in bytes.
     */
    add(text) {
      if (used + text.length > buffer.length) finish();
      if (text.length > buffer.length) take(Buffer.from(text, 'latin1'));
      else used += buffer.write(text, used, 'latin1');
      return text.length;
    },
    finish,
  };
}

// The writers handle lines as strings with one Latin-1 character per byte, so valid UTF-8 is not
// decoded. One replaceAll() on all lines takes a third of the time of copying line by line.

/**
 * @param {(atMs: number) => string} dateOf
 * @returns {Writer}
 */
function prefixWriter(dateOf) {
  let isInside = false;
  return (bytes, atMs, isPart) => {
    const prefix = asBytes(`${dateOf(atMs)}: `);
    const text = bytes.toString('latin1', 0, isPart ? bytes.length : bytes.length - 1).replaceAll('\n', `\n${prefix}`);
    const first = isInside ? '' : prefix;
    isInside = isPart;
    return isPart ? first + text : `${first}${text}\n`;
  };
}

/**
 * Writes the JSON record of PM2. After a record with `part`, the line continues in the next record.
 * @param {{ name: string, id: number, stream: LogStream, dateOf: (atMs: number) => string }} o
 * @returns {Writer}
 */
function jsonWriter({ name, id, stream, dateOf }) {
  const rest = `"type":${JSON.stringify(stream)},"process_id":${id},"app_name":${JSON.stringify(name)}`;
  return (given, atMs, isPart) => {
    const bytes = isUtf8(given) ? given : Buffer.from(given.toString('utf8'));
    const tail = asBytes(`,"timestamp":${JSON.stringify(dateOf(atMs))},${rest}`);
    if (isPart) return `{"message":${JSON.stringify(bytes.toString('latin1'))}${tail},"part":true}\n`;
    const text = bytes.toString('latin1');
    const lines = (text.includes('\r') ? text.replaceAll('\r\n', '\n') : text).slice(0, -1);
    // Escapes all lines as one string, because escaping each line costs twice as much.
    const messages = JSON.stringify(lines.replaceAll('\n', NO_UTF8)).replaceAll(NO_UTF8, `"${tail}}\n{"message":"`);
    return `{"message":${messages}${tail}}\n`;
  };
}

/** @param {string} text */
function asBytes(text) {
  return Buffer.from(text).toString('latin1');
}

/** @param {Buffer[]} buffers */
function join(buffers) {
  return buffers.length === 1 ? buffers[0] : Buffer.concat(buffers);
}

const require = createRequire(import.meta.url);

/**
 * Formats with dayjs, in local time. Uses the same text again within a second, or within a ms if
 * the format shows ms.
 * @param {string} format  Such as "YYYY-MM-DDTHH:mm:ss".
 * @returns {(atMs: number) => string}
 */
export function createDateFormat(format) {
  // Loads dayjs on demand, because most apps do not format dates.
  const dayjs = /** @type {typeof import('dayjs')} */ (require('dayjs'));
  const stepMs = /SSS/.test(format.replace(/\[[^\]]*\]/g, '')) ? 1 : 1_000;
  let step = NaN;
  let text = '';
  return (atMs) => {
    const now = Math.floor(atMs / stepMs);
    if (now !== step) text = dayjs(atMs).format(format);
    step = now;
    return text;
  };
}
