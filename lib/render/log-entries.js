import { oneLine, padEnd } from './text.cjs';

/** @typedef {import('../shared/protocol.js').LogEntry} LogEntry */

/** As wide as PM2's column, so that short names stand below each other without knowing all of them. */
const LABEL_WIDTH = 10;

/**
 * Lines as people read them: "0|api      | text". With `raw` the bare line; with `json` PM2's record, one a line.
 * @param {{entries: LogEntry[]}} data
 * @param {import('./list.js').View} view
 * @returns {string}
 */
export function renderLogEntries({ entries }, { paint, options }) {
  if (options.json) return entries.map((entry) => `${JSON.stringify(toRecord(entry))}\n`).join('');
  if (options.raw) return entries.map(({ line }) => `${line}\n`).join('');
  return entries.map(({ id, name, stream, line }) => {
    const label = padEnd(`${id}|${oneLine(name)}`, LABEL_WIDTH);
    return `${paint(stream === 'err' ? 'red' : 'green', `${label} | `)}${line}\n`;
  }).join('');
}

/** @param {LogEntry} entry */
function toRecord({ id, name, stream, line, atMs }) {
  return { message: line, timestamp: atMs === null ? null : new Date(atMs).toISOString(), type: stream, process_id: id, app_name: name };
}
