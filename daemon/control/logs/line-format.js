import { isUtf8 } from 'node:buffer';
import { createDateFormat } from './date-format.js';
import { createWholeLines } from './whole-lines.js';

/** @import { LogStream } from '../../../lib/shared/protocol.js' */
/** @import { AppSpec } from '../../../lib/shared/spec.js' */

/** A byte that UTF-8 does not have, in the place of a line end. */
const NO_UTF8 = '\u00ff';

/**
 * Makes the lines of one stream of one instance what their file shows.
 * @typedef {object} LineFormat
 * @property {(chunk: Buffer, atMs: number) => Buffer} push  Whole lines, with the time at which they were complete. Empty when there is none yet.
 * @property {() => Buffer} end  The line that has no end, with one.
 */

/** Turns a piece into text that has one character a byte. @typedef {(bytes: Buffer, atMs: number, isPart: boolean) => string} Writer */

/**
 * @param {Pick<AppSpec, 'logType'|'logDateFormat'|'name'> & {id: number, stream: LogStream, nowMs: () => number}} o
 * @returns {LineFormat|null}  Null: chunks go to the file as they are.
 */
export function createLineFormat({ logType, logDateFormat, name, id, stream, nowMs }) {
  const dateOf = logDateFormat === null ? null : createDateFormat(logDateFormat);
  if (logType === 'json') return formatOf(jsonWriter({ name, id, stream, dateOf: dateOf ?? ((atMs) => new Date(atMs).toISOString()) }), nowMs);
  return dateOf && formatOf(prefixWriter(dateOf), nowMs);
}

/**
 * Lines as they are, but whole: for a file that has those of several streams.
 * @returns {LineFormat}
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
function formatOf(write, nowMs) {
  const lines = createWholeLines();
  const written = (/** @type {import('./whole-lines.js').Piece[]} */ pieces, /** @type {number} */ atMs) => join(pieces.map(({ bytes, isPart }) => Buffer.from(write(bytes, atMs, isPart), 'latin1')));
  return { push: (chunk, atMs) => written(lines.push(chunk), atMs), end: () => written(lines.end(), nowMs()) };
}

// Bytes are taken for characters of Latin-1, one by one, and so are those of what is put between them. A line is then never decoded: replacing in one string costs a third of copying lines.

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
 * PM2's record. The line of one that says `part` goes on in the next.
 * @param {{name: string, id: number, stream: LogStream, dateOf: (atMs: number) => string}} o
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
    // Escaped in one go: line by line it costs twice as much.
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
