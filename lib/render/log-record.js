import { formatTime } from './log-time.js';

/** @typedef {import('../shared/wire/protocol.js').LogEntry} LogEntry */

/** PM2's: with the offset, as a program may read it elsewhere. */
const FORMAT_TIMESTAMP = 'YYYY-MM-DD-HH:mm:ssZZ';

/**
 * PM2's record, on one line.
 * @param {LogEntry} entry
 * @returns {string}
 */
export function jsonRecord({ id, name, stream, line, atMs }) {
  return JSON.stringify({ message: line, timestamp: atMs === null ? null : new Date(atMs).toISOString(), type: stream, process_id: id, app_name: name });
}

/**
 * PM2's --format: keys and values, the message last and as it is.
 * @param {LogEntry} entry
 * @param {string} [format]  Of the time.
 * @returns {string}
 */
export function formattedRecord({ id, name, stream, line, atMs }, format = FORMAT_TIMESTAMP) {
  return `timestamp=${quoted(formatTime(atMs, format))} app=${quoted(name)} id=${id} type=${stream === 'err' ? 'error' : 'out'} message=${line}`;
}

/** @param {string} value */
function quoted(value) {
  return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}
