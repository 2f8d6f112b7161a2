import { readGrep } from '../config/options/log-query.js';
import { createLabels } from './log-label.js';
import { prettyRecord } from './log-pretty.js';
import { formattedRecord, jsonRecord } from './log-record.js';
import { hasColours, mark, markerOf, withoutControls } from './log-text.js';
import { formatTime, TIMESTAMP_FORMAT } from './log-time.js';
import { createPaint } from './paint.js';

/** @typedef {import('../shared/wire/protocol.js').LogEntry} LogEntry */
/** @typedef {import('./list.js').View} View */

/**
 * Lines as people read them: "0|api      | text"; on a terminal with the records of loggers made readable. With `raw` the bare line; with `json` and `format` PM2's records.
 * @returns {(data: {entries: LogEntry[]}, view: View) => string}  Remembers how wide its column has become.
 */
export function createLogRenderer() {
  /** @type {((entry: LogEntry) => string)|null} */
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
  const { json, format, raw, timestamp } = view.options;
  if (json) return (entry) => `${jsonRecord(entry)}\n`;
  if (format) return (entry) => `${formattedRecord(entry, typeof timestamp === 'string' ? timestamp : undefined)}\n`;
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
  const marker = markerOf(/** @type {{highlight?: string|true, grep?: string}} */ ({ highlight, grep }), readGrep);
  return (entry) => {
    const time = timeFormat === null ? '' : `${paint('grey', formatTime(entry.atMs, timeFormat))} `;
    const label = labelOf(entry);
    const lines = isTerminal ? (prettyRecord(entry, { paint, hasTime: timeFormat !== null }) ?? [entry.line]).map(forTerminal) : [entry.line];
    return lines.map((line) => `${time}${label}${marker ? mark(line, marker, paint) : line}\n`).join('');
  };
}

/** The colours of an app are its own: they end with its line whatever is chosen for ours. */
const paintAlways = createPaint(1);

/**
 * @param {string} line  As an app wrote it.
 * @returns {string}  For a terminal: it can do no more than be coloured, and leaves no colour behind.
 */
export function forTerminal(line) {
  const text = withoutControls(line);
  return hasColours(text) ? paintAlways('reset', text) : text;
}
