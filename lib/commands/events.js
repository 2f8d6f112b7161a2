import { existsSync } from 'node:fs';
import { tailEvents } from '../client/event-tail.js';
import { homePaths } from '../shared/paths.js';
import { appsMeant, isAbout } from './event-scope.js';
import { readCount, readSince, readTypes } from './event-options.js';
import { sayNotRunning } from '../client/not-running.js';

/** @typedef {import('../shared/event-log.js').LoggedEvent} LoggedEvent */

/** Events to begin with. */
const LINES = 20;

/**
 * What has happened, and then what happens, until Ctrl-C. No manager has to run.
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} targets  None: everything.
 * @param {Record<string, any>} options
 * @returns {AsyncGenerator<{events: LoggedEvent[]}, void, void>}  Throws ERR_NCLUST_USAGE and ERR_NCLUST_APP_NOT_FOUND.
 */
export async function* events(context, targets, options) {
  const sinceMs = readSince(options, Date.now());
  const lines = readCount(options, LINES);
  const isOfType = readTypes(options);
  const client = await context.running();
  if (!client) sayNotRunning(context);
  if (!existsSync(context.home)) return;
  const { slots } = client && targets.length > 0 ? await client.request('list', { brief: true }) : { slots: [] };
  await context.close();

  const stop = new AbortController();
  const release = context.isTerminal ? context.onInterrupt(() => stop.abort()) : () => {};
  let isMeant = (/** @type {LoggedEvent} */ _event) => true;
  try {
    for await (const { entries, isHistory, isGap } of tailEvents(homePaths(context.home).events, { signal: stop.signal })) {
      if (isHistory && targets.length > 0) isMeant = isAbout(appsMeant(targets, { slots, events: entries }));
      if (isGap) context.talk('Some events that were written meanwhile are not kept any more.');
      const wanted = entries.filter((event) => event.at >= sinceMs && isOfType(event.type) && isMeant(event));
      const shown = isHistory ? lastOf(wanted, lines) : wanted;
      if (shown.length > 0) yield { events: shown };
      if (isHistory && shown.length === 0 && lines > 0) context.talk(options.nostream ? 'No event is kept that was asked for.' : 'No event is kept that was asked for; what happens now will be shown. Ctrl-C ends this.');
      if (options.nostream) return;
    }
  } finally {
    release();
  }
}

/**
 * @template T
 * @param {T[]} all
 * @param {number} count
 */
function lastOf(all, count) {
  return count === 0 ? [] : all.slice(-Math.min(count, all.length));
}
