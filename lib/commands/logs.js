import { streamLogs } from '../client/log-stream.js';
import { notRunningError } from '../client/not-running.js';
import { readLogOptions } from '../config/options/log-query.js';
import { absoluteScripts } from '../library/targets.js';
import { noticeBeforeLines, describeGap, reportMissed, noticeWithoutLines } from '../render/log-notes.js';
import { NclustError } from '../shared/errors.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { LogQuery } from '../config/options/log-query.js' */
/** @import { LogEntry } from '../shared/wire/protocol.js' */

/**
 * @param {Context} context
 * @param {string[]} targets  None: all.
 * @param {Record<string, any>} options
 * @returns {AsyncGenerator<{ entries: LogEntry[] }, void, void>}
 */
export async function* logs(context, targets, options) {
  const query = readLogOptions(options, Date.now());
  const client = await context.runningManager();
  if (!client) throw notRunningError(context);
  const named = targets.length > 0 ? { targets: await absoluteScripts(context, client, targets) } : {};
  const { slots } = await client.request('list', { ...named, brief: true });
  const before = noticeBeforeLines(slots, { follow: query.follow, isChosen: targets.length > 0 });
  if (before) context.printMessage(before);
  if (slots.length === 0 && !query.follow) return;

  let isCaughtUp = false;
  /** @param {number} lines */
  const onCaughtUp = (lines) => {
    isCaughtUp = true;
    if (lines === 0 && query.lines !== 0 && slots.length > 0)
      context.printMessage(noticeWithoutLines(slots, { follow: query.follow, isFiltered: isFiltered(query) }));
  };
  // The notices below leave out the name of the app if there is only one app.
  const isOther = (/** @type {string} */ name) =>
    slots.length === 0 || slots.some((/** @type {{ name: string }} */ slot) => slot.name !== name);
  const onMissed = (/** @type {number} */ lines, /** @type {Record<string, number>} */ of) =>
    context.printMessage(reportMissed(lines, Object.keys(of).some(isOther) ? of : {}));
  const onGap = (/** @type {string[]} */ names) => context.printMessage(describeGap(names.some(isOther) ? names : []));
  const stop = new AbortController();
  const release = onCtrlC(context, () => {
    stop.abort();
    void client.close();
  });
  try {
    yield* streamLogs(
      client,
      { ...named, ...query },
      { printMessage: context.printMessage, signal: stop.signal, onCaughtUp, onMissed, onGap },
    );
  } finally {
    release();
  }
  // The user pressed Ctrl-C before the end of the existing lines.
  if (stop.signal.aborted && !isCaughtUp) throw new NclustError('ERR_NCLUST_INTERRUPTED', 'There were more lines.');
}

/**
 * On a terminal, the command finishes the current line, with its colours. Elsewhere, Ctrl-C ends
 * the command at once, because a reader that has stopped reading would block the command.
 * @param {Context} context
 * @param {() => void} listener
 */
function onCtrlC({ isTerminal, onInterrupt }, listener) {
  return isTerminal ? onInterrupt(listener) : () => {};
}

/** @param {LogQuery} query */
function isFiltered({ streams, since, until, grep, level }) {
  return [streams, since, until, grep, level].some((one) => one !== undefined);
}
