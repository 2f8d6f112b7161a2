import { plainText } from '../render/log-text.js';

/** @import { LogEntry } from '../shared/wire/protocol.js' */

/** @typedef {{seq: number, id: number, name: string, text: string, isErr: boolean, atMs: number|null}} LogLine */

/**
 * @typedef {object} LogLines
 * @property {string} wish  Whose lines these are: see wishes.js.
 * @property {LogLine[]} lines  Oldest first, at most LINES_MAX.
 * @property {number} nextSeq
 * @property {number} missed  Lines that came too fast to be shown.
 * @property {number|null} bottomSeq  The last line that is shown. Null: it follows.
 * @property {number} left  Columns that are scrolled away.
 * @property {string} search  What is marked.
 * @property {string} grep  What the manager filters by.
 */

export const LINES_MAX = 2_000;

/** Of a longer line only the beginning is kept. */
const LINE_MAX_CHARS = 4_000;

/**
 * @param {LogLines} logs
 * @param {LogEntry[]} entries
 * @returns {LogLines}
 */
export function appendLines(logs, entries) {
  // Of what would be pushed out again at once nothing has to be made.
  const skipped = Math.max(0, entries.length - LINES_MAX);
  const added = entries.slice(skipped).map((entry, at) => lineOf(entry, logs.nextSeq + skipped + at));
  return { ...logs, lines: [...logs.lines, ...added].slice(-LINES_MAX), nextSeq: logs.nextSeq + entries.length };
}

/** @param {LogEntry} entry @param {number} seq @returns {LogLine} */
function lineOf({ id, name, stream, line, atMs }, seq) {
  const text = plainText(line.slice(0, LINE_MAX_CHARS)).replaceAll('\t', '  ');
  return { seq, id, name, text, isErr: stream === 'err', atMs };
}

/**
 * The lines to show.
 * @param {LogLines} logs
 * @param {number} height
 * @returns {LogLine[]}
 */
export function linesShown({ lines, bottomSeq }, height) {
  if (height <= 0 || lines.length === 0) return [];
  const end = bottomSeq === null ? lines.length : Math.max(Math.min(height, lines.length), Math.min(lines.length, bottomSeq - lines[0].seq + 1));
  return lines.slice(Math.max(0, end - height), end);
}

/**
 * @param {LogLines} logs
 * @param {number} by  Negative: to older lines.
 * @param {number} height
 * @returns {LogLines}  At the end it follows again.
 */
export function scrollLines(logs, by, height) {
  const last = logs.lines.at(-1);
  if (!last) return logs;
  const bottom = (linesShown(logs, height).at(-1) ?? last).seq;
  const first = Math.min(logs.lines[0].seq + height - 1, last.seq);
  const wanted = Math.max(first, bottom + by);
  return { ...logs, bottomSeq: wanted >= last.seq && by > 0 ? null : Math.min(wanted, last.seq) };
}

/**
 * Goes to the next line with what is looked for.
 * @param {LogLines} logs
 * @param {'older'|'newer'} direction
 * @param {number} height
 * @returns {LogLines|null}  Null: there is none.
 */
export function findLine(logs, direction, height) {
  if (logs.search === '') return null;
  const bottom = linesShown(logs, height).at(-1)?.seq ?? 0;
  const from = logs.bottomSeq === null && direction === 'older' ? bottom + 1 : bottom;
  const matches = logs.lines.filter(({ text }) => hasText(text, logs.search));
  const match = direction === 'older' ? matches.findLast(({ seq }) => seq < from) : matches.find(({ seq }) => seq > from);
  return match ? { ...logs, bottomSeq: match.seq } : null;
}

/**
 * Capital letters count only where somebody has typed one.
 * @param {string} text
 * @param {string} wanted
 */
export function hasText(text, wanted) {
  return wanted === wanted.toLowerCase() ? text.toLowerCase().includes(wanted) : text.includes(wanted);
}
