import { plainText } from '../../../../lib/render/log-text.js';

/** @import { LogEntry } from '../../../../lib/shared/wire/protocol.js' */

/** On the page; the log files have them all. */
export const LINES_MAX = 2_000;

/** Of a longer line only the beginning is shown. */
const LINE_MAX_CHARS = 4_000;

/** What an app wrote, as plain text: no colours, nothing that turns the direction of the text. @param {string} line */
export function shownText(line) {
  const text = plainText(line.slice(0, LINE_MAX_CHARS));
  return line.length > LINE_MAX_CHARS ? `${text} …` : text;
}

/**
 * What to ask of the manager.
 * @param {{target: string, text: string, stream: string, cursor: object}} o
 */
export function logQuery({ target, text, stream, cursor }) {
  const wanted = text.trim();
  return {
    targets: [target],
    follow: true,
    lines: wanted === '' ? 300 : 1_000,
    ...(stream === 'both' ? {} : { streams: [stream] }),
    // Capital letters count where somebody has typed one.
    ...(wanted === '' ? {} : { grep: { source: wanted.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), flags: wanted === wanted.toLowerCase() ? 'i' : '' } }),
    ...(Object.keys(cursor).length > 0 ? { cursor } : {}),
  };
}

/**
 * Lines that wait to be shown: never more than there is room for.
 * @param {LogEntry[]} waiting
 * @param {LogEntry[]} entries
 */
export function queued(waiting, entries) {
  return [...waiting, ...entries].slice(-LINES_MAX);
}
