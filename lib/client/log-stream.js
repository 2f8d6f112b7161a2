import { NclustError } from '../shared/errors.js';
import { FOLLOWED_TO_THE_END, describeGap, reportMissed, WAITING } from '../render/log-notes.js';

/** @import { LogQuery } from '../config/options/log-query.js' */
/** @import { LogEntry } from '../shared/wire/protocol.js' */
/** @import { Client } from './client.js' */

/** @typedef {LogQuery & { targets?: string[] }} LogRequest */
/**
 * @typedef {object} LogNews  A notification or the answer.
 * @property {string} subscription
 * @property {LogEntry[]} [entries]
 * @property {Record<string, unknown>} [cursor]
 * @property {number} [missed]
 * @property {Record<string, number>} [missedOf]
 * @property {boolean} [gap]
 * @property {string[]} [gapOf]
 */

/** Time without a notice after a broken connection, in ms. A new control needs less time. */
const PATIENCE_MS = 1_000;

/** If this many controls in a row die before a line comes, the request probably kills them. */
const MAX_FRUITLESS = 5;

/** The manager sends a line above 64 KiB in parts. The parts are joined up to this length. */
const LINE_MAX_CHARS = 16 * 1024 * 1024;

/** The name of every log subscription. One name is enough, because a connection has one reader. */
const SUBSCRIPTION = 'logs';

/**
 * Yields lines from the manager: first the existing lines, then new lines. After a broken
 * connection, the stream continues after its last line.
 * @param {Client} client
 * @param {LogRequest} request
 * @param {object} o
 * @param {(sentence: string) => void} o.printMessage
 * @param {AbortSignal} o.signal  Ends the stream if the caller also closes the client.
 * @param {(lines: number) => void} [o.onCaughtUp]  Called after the existing lines.
 * @param {(lines: number, of: Record<string, number>) => void} [o.onMissed]  Default: a notice.
 * @param {(names: string[]) => void} [o.onGap]  Called if lines between two yielded lines are gone.
 *   Default: a notice.
 * @param {number} [o.patienceMs]
 * @param {number} [o.lineMaxChars]  0: yields the parts of a long line as separate entries.
 * @returns {AsyncGenerator<{ entries: LogEntry[] }, void, void>}  Ends after the existing lines.
 *   With `follow`, ends when the manager ends.
 */
export async function* streamLogs(
  client,
  request,
  {
    printMessage,
    signal,
    onCaughtUp = () => {},
    onMissed = (missed, of) => printMessage(reportMissed(missed, of)),
    onGap = (names) => printMessage(describeGap(names)),
    patienceMs = PATIENCE_MS,
    lineMaxChars = LINE_MAX_CHARS,
  },
) {
  const long = createJoiner(lineMaxChars);
  /** @type {Record<string, unknown> | null} */
  let cursor = null;
  let isCaughtUp = false;
  let lines = 0;
  for (let fruitless = 0; fruitless < MAX_FRUITLESS;) {
    fruitless += 1;
    let isGapReported = false;
    for await (const { method, params, result } of client.converse('logs', {
      ...request,
      ...(cursor ? { cursor } : {}),
      subscription: SUBSCRIPTION,
    })) {
      if (signal.aborted) return;
      const said = /** @type {LogNews} */ (method === undefined ? result : params);
      if (method !== undefined && (method !== 'log' || said.subscription !== SUBSCRIPTION)) continue;
      fruitless = 0;
      const begun = said.missed || said.gap ? long.finish() : [];
      if (begun.length > 0) yield { entries: begun };
      if (said.missed) onMissed(said.missed, said.missedOf ?? {});
      if (said.gap && !isGapReported) onGap(said.gapOf ?? []);
      isGapReported ||= said.gap === true;
      const isLast = method === undefined && !request.follow;
      const entries = [...long.join(said.entries ?? []), ...(isLast ? long.finish() : [])];
      lines += entries.length;
      if (entries.length > 0) yield { entries };
      // Merges the cursors, because a notification contains only the part that has changed.
      if (said.cursor) cursor = Object.assign(cursor ?? {}, said.cursor);
      if (method !== undefined) continue;
      if (!isCaughtUp) onCaughtUp(lines);
      isCaughtUp = true;
      if (!request.follow) return;
    }
    if (signal.aborted) return;
    if (await reconnect(client, { printMessage, signal, isCaughtUp, patienceMs })) continue;
    const begun = long.finish();
    if (begun.length > 0) yield { entries: begun };
    return;
  }
  throw new NclustError(
    'ERR_NCLUST_CONNECTION_LOST',
    `The manager closed the connection ${MAX_FRUITLESS} times before it sent a line.`,
    { hint: 'Its log is nclust.log in the home.' },
  );
}

/** @param {number} maxChars */
function createJoiner(maxChars) {
  /** Lines whose last part is missing, by id and stream. @type {Map<string, LogEntry>} */
  const begun = new Map();

  /** @param {LogEntry} entry */
  function joined(entry) {
    const key = `${entry.id} ${entry.stream}`;
    const { part, ...whole } = { ...(begun.get(key) ?? entry), part: entry.part };
    if (begun.delete(key)) whole.line += entry.line;
    if (!part) return [whole];
    if (whole.line.length >= maxChars) return [{ ...whole, part }];
    begun.set(key, whole);
    return [];
  }

  return {
    /** @param {LogEntry[]} entries */
    join: (entries) => (begun.size > 0 || entries.some(({ part }) => part) ? entries.flatMap(joined) : entries),
    /** Returns the lines that have no last part. */
    finish() {
      const lines = [...begun.values()];
      begun.clear();
      return lines;
    },
  };
}

/**
 * @param {Client} client
 * @param {object} o
 * @param {(sentence: string) => void} o.printMessage
 * @param {AbortSignal} o.signal
 * @param {boolean} o.isCaughtUp
 * @param {number} o.patienceMs
 * @returns {Promise<boolean>}  False: `signal` is aborted, or the manager ended after it had sent
 *   all existing lines. Rejects if the connection fails for another reason.
 */
async function reconnect(client, { printMessage, signal, isCaughtUp, patienceMs }) {
  const timer = setTimeout(() => printMessage(WAITING), patienceMs);
  try {
    await client.request('hello');
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    if (!isCaughtUp || !(error instanceof NclustError) || error.code !== 'ERR_NCLUST_CONNECTION_LOST') throw error;
    printMessage(FOLLOWED_TO_THE_END);
    return false;
  } finally {
    clearTimeout(timer);
  }
}
