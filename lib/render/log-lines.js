import { readGrep } from '../config/options/log-query.js';
import { prettyRecord, quoteWord } from './log-pretty.js';
import { hasColours, mark, buildMarker, stripControls } from './log-text.js';
import { formatTime, TIMESTAMP_FORMAT } from './log-time.js';
import { createPaint } from './paint.js';
import { jsonLine, toOneLine, padEnd, textWidth } from './text.js';

/** @import { LogEntry } from '../shared/wire/protocol.js' */
/** @import { View } from './list.js' */
/** @import { Paint } from './paint.js' */

/**
 * On a terminal, makes the JSON records of loggers readable. The options `json` and `format` select
 * the record formats of PM2.
 * @returns {(data: { entries: LogEntry[] }, view: View) => string}  Remembers the width of its
 *   labels between calls.
 */
export function createLogRenderer() {
  /** @type {((entry: LogEntry) => string) | null} */
  let toText = null;
  return ({ entries }, view) => {
    const text = (toText ??= formatText(view));
    return entries.map(text).join('');
  };
}

/**
 * @param {View} view
 * @returns {(entry: LogEntry) => string}
 */
function formatText(view) {
  const { isTerminal, options } = view;
  const { json, format, raw, timestamp } = options;
  if (json) return (entry) => `${jsonRecord(entry)}\n`;
  if (format)
    return (entry) => {
      const record = formatRecord(entry, typeof timestamp === 'string' ? timestamp : undefined);
      return `${isTerminal ? toSafeLine(record) : record}\n`;
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
  const marker = buildMarker(
    /** @type {{ highlight?: string | true, grep?: string }} */ ({ highlight, grep }),
    readGrep,
  );
  return (entry) => {
    const time = timeFormat === null ? '' : `${paint('grey', formatTime(entry.atMs, timeFormat))} `;
    const label = labelOf(entry);
    const lines = isTerminal
      ? (prettyRecord(entry, { paint, hasTime: timeFormat !== null }) ?? [entry.line]).map(toSafeLine)
      : [entry.line];
    return lines.map((line) => `${time}${label}${marker ? mark(line, marker, paint) : line}\n`).join('');
  };
}

/** Resets the colours after a line of an app, even if nclust itself prints without colours. */
const paintAlways = createPaint(1);

/**
 * Keeps the colours in a line of an app, and resets them at the end of the line.
 * @param {string} line
 */
export function toSafeLine(line) {
  const text = stripControls(line);
  return hasColours(text) ? paintAlways('reset', text) : text;
}

/** Initial width of the label column, as in PM2. A longer name makes the column wider. */
const WIDTH_MIN = 10;
/** Maximum width of the label column, so that there is room for the text. */
const WIDTH_MAX = 30;

/** Red is not in the list, because it marks errors. */
const COLOURS = /** @type {const} */ (['cyan', 'green', 'yellow', 'magenta', 'blue']);

/**
 * Labels like "0|api      | ". An app always has the same colour.
 * @param {Paint} paint
 * @returns {(entry: LogEntry) => string}
 */
function createLabels(paint) {
  let width = WIDTH_MIN;
  return ({ id, name, stream }) => {
    const label = `${id}|${toOneLine(name)}`;
    width = Math.max(width, Math.min(textWidth(label), WIDTH_MAX));
    const bar = stream === 'err' ? paint('red', ' | ') : paint('grey', ' | ');
    return `${paint(pickColour(name), padEnd(label, width))}${bar}`;
  };
}

/** @param {string} name */
export function pickColour(name) {
  let hash = 0;
  for (const character of name) hash = (Math.imul(hash, 31) + /** @type {number} */ (character.codePointAt(0))) >>> 0;
  return COLOURS[hash % COLOURS.length];
}

/** As in PM2. Includes the UTC offset, because a program in another time zone may read the time. */
const FORMAT_TIMESTAMP = 'YYYY-MM-DD-HH:mm:ssZZ';

/** @param {LogEntry} entry */
export function jsonRecord({ id, name, stream, line, atMs, part }) {
  return jsonLine({
    message: line,
    timestamp: atMs === null ? null : new Date(atMs).toISOString(),
    type: stream,
    process_id: id,
    app_name: name,
    ...(part ? { part } : {}),
  });
}

/**
 * The same form as --format of PM2: the message is last and has no quotes.
 * @param {LogEntry} entry
 * @param {string} [format]
 */
export function formatRecord({ id, name, stream, line, atMs }, format = FORMAT_TIMESTAMP) {
  return (
    `timestamp=${quoteWord(formatTime(atMs, format))} app=${quoteWord(name)} id=${id} ` +
    `type=${stream === 'err' ? 'error' : 'out'} message=${line}`
  );
}
