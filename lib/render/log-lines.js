import { readGrep } from '../config/options/log-query.js';
import { prettyRecord } from './log-pretty.js';
import { hasColours, mark, markerOf, withoutControls } from './log-text.js';
import { formatTime, TIMESTAMP_FORMAT } from './log-time.js';
import { createPaint } from './paint.js';
import { jsonLine, toOneLine, padEnd, textWidth } from './text.js';

/** @import { LogEntry } from '../shared/wire/protocol.js' */
/** @import { View } from './list.js' */
/** @import { Paint } from './paint.js' */

/**
 * Lines as people read them: "0|api      | text"; on a terminal with the records of loggers made
 * readable. With `raw` the bare line; with `json` and `format` PM2's records.
 * @returns {(data: { entries: LogEntry[] }, view: View) => string}  Remembers how wide its column
 *   has become.
 */
export function createLogRenderer() {
  /** @type {((entry: LogEntry) => string) | null} */
  let toText = null;
  return ({ entries }, view) => {
    const text = (toText ??= textOf(view));
    return entries.map(text).join('');
  };
}

/**
 * @param {View} view
 * @returns {(entry: LogEntry) => string}
 */
function textOf(view) {
  const { isTerminal, options } = view;
  const { json, format, raw, timestamp } = options;
  if (json) return (entry) => `${jsonRecord(entry)}\n`;
  if (format)
    return (entry) => {
      const record = formatRecord(entry, typeof timestamp === 'string' ? timestamp : undefined);
      return `${isTerminal ? createTerminalWriter(record) : record}\n`;
    };
  if (raw) return ({ line }) => `${line}\n`;
  return labelled(view);
}

/**
 * @param {View} view
 * @returns {(entry: LogEntry) => string}
 */
function labelled({ paint, isTerminal = false, options: { timestamp, highlight, grep } }) {
  const labelOf = createLabels(paint);
  const timeFormat = timestamp === undefined ? null : typeof timestamp === 'string' ? timestamp : TIMESTAMP_FORMAT;
  const marker = markerOf(/** @type {{ highlight?: string | true, grep?: string }} */ ({ highlight, grep }), readGrep);
  return (entry) => {
    const time = timeFormat === null ? '' : `${paint('grey', formatTime(entry.atMs, timeFormat))} `;
    const label = labelOf(entry);
    const lines = isTerminal
      ? (prettyRecord(entry, { paint, hasTime: timeFormat !== null }) ?? [entry.line]).map(createTerminalWriter)
      : [entry.line];
    return lines.map((line) => `${time}${label}${marker ? mark(line, marker, paint) : line}\n`).join('');
  };
}

/** The colours of an app are its own: they end with its line whatever is chosen for ours. */
const paintAlways = createPaint(1);

/**
 * @param {string} line  As an app wrote it.
 * @returns {string}  For a terminal: it can do no more than be coloured, and leaves no colour
 *   behind.
 */
export function createTerminalWriter(line) {
  const text = withoutControls(line);
  return hasColours(text) ? paintAlways('reset', text) : text;
}

/**
 * As wide as PM2's column; it grows with the names that come, up to a width that leaves room for
 * the line.
 */
const WIDTH_MIN = 10;
const WIDTH_MAX = 30;

/** Not red, which is for errors. */
const COLOURS = /** @type {const} */ (['cyan', 'green', 'yellow', 'magenta', 'blue']);

/**
 * Labels one below the other: "0|api      | ", an app always in the same colour.
 * @param {Paint} paint
 * @returns {(entry: LogEntry) => string}
 */
function createLabels(paint) {
  let width = WIDTH_MIN;
  return ({ id, name, stream }) => {
    const label = `${id}|${toOneLine(name)}`;
    width = Math.max(width, Math.min(textWidth(label), WIDTH_MAX));
    const bar = stream === 'err' ? paint('red', ' | ') : paint('grey', ' | ');
    return `${paint(colourOf(name), padEnd(label, width))}${bar}`;
  };
}

/** @param {string} name */
export function colourOf(name) {
  let hash = 0;
  for (const character of name) hash = (Math.imul(hash, 31) + /** @type {number} */ (character.codePointAt(0))) >>> 0;
  return COLOURS[hash % COLOURS.length];
}

/** PM2's: with the offset, as a program may read it elsewhere. */
const FORMAT_TIMESTAMP = 'YYYY-MM-DD-HH:mm:ssZZ';

/**
 * PM2's record, on one line.
 * @param {LogEntry} entry
 */
export function jsonRecord({ id, name, stream, line, atMs }) {
  return jsonLine({
    message: line,
    timestamp: atMs === null ? null : new Date(atMs).toISOString(),
    type: stream,
    process_id: id,
    app_name: name,
  });
}

/**
 * PM2's --format: keys and values, the message last and as it is.
 * @param {LogEntry} entry
 * @param {string} [format]  Of the time.
 */
export function formatRecord({ id, name, stream, line, atMs }, format = FORMAT_TIMESTAMP) {
  return (
    `timestamp=${quoted(formatTime(atMs, format))} app=${quoted(name)} id=${id} ` +
    `type=${stream === 'err' ? 'error' : 'out'} message=${line}`
  );
}

/** @param {string} value */
function quoted(value) {
  return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}
