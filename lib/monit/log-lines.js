import { setTimeout as pause } from 'node:timers/promises';
import { streamLogs } from '../client/log-stream.js';
import { plainText } from '../render/log-text.js';
import { NclustError } from '../shared/errors.js';

/** @import { Client } from '../client/client.js' */
/** @import { LogEntry } from '../shared/wire/protocol.js' */
/** @import { NeededData } from './source.js' */
/** @import { MonitEvent } from './state.js' */

/**
 * @typedef {object} LogLine
 * @property {number} seq
 * @property {number} id
 * @property {string} name
 * @property {string} text
 * @property {boolean} isErr
 * @property {number | null} atMs
 */

/**
 * @typedef {object} LogLines
 * @property {string} query  Key of the request: see neededData() in source.js.
 * @property {LogLine[]} lines  Oldest first, at most LINES_MAX.
 * @property {number} nextSeq
 * @property {number} missed
 * @property {number | null} bottomSeq  The last visible line. Null: follow the newest line.
 * @property {number} left  Columns that are scrolled away.
 * @property {string} search
 * @property {string} grep  The manager sends only lines with this text. `search` only marks lines.
 */

export const LINES_MAX = 2_000;

const LINE_MAX_CHARS = 4_000;

/**
 * @param {LogLines} logs
 * @param {LogEntry[]} entries
 * @returns {LogLines}
 */
export function appendLines(logs, entries) {
  // Skips the oldest of the new lines if there are more than LINES_MAX.
  const skipped = Math.max(0, entries.length - LINES_MAX);
  const added = entries.slice(skipped).map((entry, at) => formatLine(entry, logs.nextSeq + skipped + at));
  return { ...logs, lines: [...logs.lines, ...added].slice(-LINES_MAX), nextSeq: logs.nextSeq + entries.length };
}

/**
 * @param {LogEntry} entry
 * @param {number} seq
 * @returns {LogLine}
 */
function formatLine({ id, name, stream, line, atMs }, seq) {
  const text = plainText(line.slice(0, LINE_MAX_CHARS)).replaceAll('\t', '  ');
  return { seq, id, name, text, isErr: stream === 'err', atMs };
}

/**
 * @param {LogLines} logs
 * @param {number} height
 */
export function visibleLines({ lines, bottomSeq }, height) {
  if (height <= 0 || lines.length === 0) return [];
  const end =
    bottomSeq === null
      ? lines.length
      : Math.max(Math.min(height, lines.length), Math.min(lines.length, bottomSeq - lines[0].seq + 1));
  return lines.slice(Math.max(0, end - height), end);
}

/**
 * @param {LogLines} logs
 * @param {number} by  Negative: to older lines.
 * @param {number} height
 * @returns {LogLines}  Follows the newest line again if the user scrolls to the end.
 */
export function scrollLines(logs, by, height) {
  const last = logs.lines.at(-1);
  if (!last) return logs;
  const bottom = (visibleLines(logs, height).at(-1) ?? last).seq;
  const first = Math.min(logs.lines[0].seq + height - 1, last.seq);
  const wanted = Math.max(first, bottom + by);
  return { ...logs, bottomSeq: wanted >= last.seq && by > 0 ? null : Math.min(wanted, last.seq) };
}

/**
 * @param {LogLines} logs
 * @param {'older' | 'newer'} direction
 * @param {number} height
 * @returns {LogLines | null}  Null: the search text is empty, or no line in this direction
 *   contains the text.
 */
export function findLine(logs, direction, height) {
  if (logs.search === '') return null;
  const bottom = visibleLines(logs, height).at(-1)?.seq ?? 0;
  const from = logs.bottomSeq === null && direction === 'older' ? bottom + 1 : bottom;
  const matches = logs.lines.filter(({ text }) => hasText(text, logs.search));
  const match =
    direction === 'older' ? matches.findLast(({ seq }) => seq < from) : matches.find(({ seq }) => seq > from);
  return match ? { ...logs, bottomSeq: match.seq } : null;
}

/**
 * Ignores case unless the search text has a capital letter.
 * @param {string} text
 * @param {string} wanted
 */
export function hasText(text, wanted) {
  return wanted === wanted.toLowerCase() ? text.toLowerCase().includes(wanted) : text.includes(wanted);
}

/** Maximum number of lines per BREATH_MS. The manager leaves out and counts further lines. */
const LINES_AT_ONCE = 2_000;
const BREATH_MS = 100;

const AGAIN_MS = 1_000;

/**
 * Follows the log until the returned function is called or `signal` aborts. If the manager exits,
 * continues when a manager runs again.
 * @param {NonNullable<NeededData['logs']>} query
 * @param {object} o
 * @param {() => Promise<Client | null>} o.open
 * @param {(event: MonitEvent) => void} o.dispatch
 * @param {AbortSignal} o.signal
 * @returns {() => void}
 */
export function followLog({ key, request }, { open, dispatch, signal }) {
  const stop = new AbortController();
  const ends = AbortSignal.any([signal, stop.signal]);
  /** @type {Client | null} */
  let client = null;

  async function readOnce() {
    client = await open();
    if (!client || ends.aborted) return;
    dispatch({ type: 'log-began', query: key });
    let lines = 0;
    let sinceMono = performance.now();
    const printMessage = (/** @type {string} */ words) => dispatch({ type: 'log-said', query: key, words });
    const onMissed = (/** @type {number} */ count) => dispatch({ type: 'log-missed', query: key, count });
    const o = { printMessage, signal: ends, onMissed, onGap: () => {}, lineMaxChars: 0 };
    for await (const { entries } of streamLogs(client, request, o)) {
      dispatch({ type: 'logged', query: key, entries });
      lines += entries.length;
      if (lines < LINES_AT_ONCE) continue;
      const left = BREATH_MS - (performance.now() - sinceMono);
      if (left > 0) await pause(left, undefined, { signal: ends }).catch(() => {});
      lines = 0;
      sinceMono = performance.now();
    }
  }

  async function run() {
    while (!ends.aborted) {
      try {
        await readOnce();
      } catch (error) {
        if (ends.aborted) return;
        // Does not report a lost connection, because the header already shows it.
        if (!(error instanceof NclustError)) throw error;
        if (!AWAY.includes(error.code)) dispatch({ type: 'log-said', query: key, words: error.message });
      } finally {
        await client?.close();
      }
      await pause(AGAIN_MS, undefined, { signal: ends }).catch(() => {});
    }
  }

  void run(); // Runs until `ends` aborts. If run() rejects, this is a bug, and ends the program.
  return () => {
    stop.abort();
    void client?.close();
  };
}

/** @type {string[]} */
const AWAY = ['ERR_NCLUST_CONNECTION_LOST', 'ERR_NCLUST_DAEMON_UNREACHABLE'];
