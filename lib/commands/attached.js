/**
 * What the app writes, as it is.
 * @param {{entries: import('../shared/wire/protocol.js').LogEntry[]}} data
 * @returns {string}
 */
export function renderAttached({ entries }) {
  return entries.map(({ line }) => `${line}\n`).join('');
}
