import { forTerminal } from './log-lines.js';
import { clockTime } from './time.js';

/**
 * The end of what a process has written to stderr since it last died: what came before is told with the death.
 * @param {import('../shared/wire/protocol.js').LogEntry[]} entries  Oldest first.
 * @param {import('../shared/wire/protocol.js').Death|null} death
 * @param {Pick<import('./list.js').View, 'nowMs'|'paint'>} view
 * @returns {string[]}
 */
export function errorLines(entries, death, { nowMs, paint }) {
  const since = entries.filter(({ atMs }) => (atMs ?? Infinity) > (death?.atMs ?? 0));
  if (since.length === 0) return [];
  return [paint('bold', 'Last lines of its error log'), ...since.map(({ atMs, line }) => `  ${paint('dim', atMs === null ? '-' : clockTime(atMs, nowMs))}  ${forTerminal(line)}`)];
}
