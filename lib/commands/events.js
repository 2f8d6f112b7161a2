import { existsSync } from 'node:fs';
import { tailEvents } from '../client/event-tail.js';
import { printNotRunning } from '../client/not-running.js';
import { readLines, readSince, usage } from '../config/options/log-query.js';
import { EVENT_TYPES, eventStyle, eventWords, findDeletion } from '../render/event-text.js';
import { jsonLine, toOneLine } from '../render/text.js';
import { clockTime } from '../figures/format.js';
import { nearWords } from '../shared/did-you-mean.js';
import { NclustError } from '../shared/errors.js';
import { namePattern } from '../shared/name-pattern.js';
import { homePaths } from '../shared/paths.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { View } from '../render/list.js' */
/** @import { LoggedEvent } from '../shared/event-log.js' */
/** @import { SlotStatus } from '../shared/wire/protocol.js' */

const LINES = 20;

/**
 * Does not need a manager.
 * @param {Context} context
 * @param {string[]} targets  None: everything.
 * @param {Record<string, any>} options
 * @returns {AsyncGenerator<{ events: LoggedEvent[] }, void, void>}
 */
export async function* events(context, targets, options) {
  const { sinceMs, lines } = readRange(options, LINES, 'events');
  const isOfType = readTypes(options);
  const client = await context.runningManager();
  if (!client) printNotRunning(context);
  if (!existsSync(context.home)) return;
  const { slots } = client && targets.length > 0 ? await client.request('list', { brief: true }) : { slots: [] };
  await context.close();

  const stop = new AbortController();
  const release = context.isTerminal ? context.onInterrupt(() => stop.abort()) : () => {};
  let isMeant = (/** @type {LoggedEvent} */ _event) => true;
  try {
    for await (const { entries, isHistory, isGap } of tailEvents(homePaths(context.home).events, {
      signal: stop.signal,
    })) {
      if (isHistory && targets.length > 0) isMeant = isAbout(selectApps(targets, { slots, events: entries }));
      if (isGap)
        context.printMessage('Some new events are missing, because the log was rotated before they could be read.');
      const wanted = entries.filter((event) => event.at >= sinceMs && isOfType(event.type) && isMeant(event));
      const shown = isHistory ? getLast(wanted, lines) : wanted;
      if (shown.length > 0) yield { events: shown };
      if (isHistory && shown.length === 0 && lines > 0)
        context.printMessage(
          options.nostream
            ? 'The event log contains no such event.'
            : 'The event log contains no such event; new ones will be shown here. Press Ctrl-C to quit.',
        );
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
function getLast(all, count) {
  return count === 0 ? [] : all.slice(-Math.min(count, all.length));
}

const THEY_ARE = 'The types are in docs/events.md.';

/**
 * @param {Record<string, any>} options
 * @param {number} byDefault  The number of lines without --lines and --since.
 * @param {string} command  The hint of an error names the help of this command.
 * @returns {{ sinceMs: number, lines: number }}  sinceMs 0: no limit.
 */
export function readRange({ since, lines }, byDefault, command) {
  const hint = `nclust help ${command}`;
  const sinceMs = since === undefined ? 0 : readSince(since, Date.now(), hint);
  if (lines !== undefined) return { sinceMs, lines: readLines(lines, hint) };
  return { sinceMs, lines: since === undefined ? byDefault : Infinity };
}

/**
 * @param {Record<string, any>} options
 * @returns {(type: string) => boolean}
 */
function readTypes({ type }) {
  if (type === undefined) return () => true;
  const wanted = String(type)
    .split(',')
    .map((one) => one.trim());
  if (wanted.some((one) => !/^[a-z-]+(:[a-z*-]+)?\*?$/.test(one)))
    throw usage(
      `--type is "${type}"; accepted: types such as "died,gave-up", or "rollout:*" for all that begin like this.`,
      THEY_ARE,
    );
  const unknown = wanted.find((one) => !one.endsWith('*') && !EVENT_TYPES.includes(one));
  if (unknown !== undefined)
    throw usage(`There is no event of the type "${unknown}".`, [...suggestTypes(unknown), THEY_ARE].join(' '));
  return (given) => wanted.some((one) => (one.endsWith('*') ? given.startsWith(one.slice(0, -1)) : one === given));
}

/** @param {string} type */
function suggestTypes(type) {
  const near = EVENT_TYPES.some((one) => one.startsWith(`${type}:`))
    ? [`${type}:*`]
    : nearWords(type, EVENT_TYPES).slice(0, 3);
  return near.length > 0 ? [`Did you mean ${near.map((one) => `"${one}"`).join(' or ')}?`] : [];
}

/** @typedef {Pick<SlotStatus, 'id' | 'name' | 'namespace'>} Named */

/** @typedef {{ name: string, ids: number[] | null }} SelectedApp  `ids`: null for all. */

/**
 * Also finds deleted apps that are still in the event log, except with the target "all".
 * @param {string[]} targets
 * @param {{ slots: Named[], events: LoggedEvent[] }} o
 * @returns {SelectedApp[]}  Each app once. Throws ERR_NCLUST_APP_NOT_FOUND and ERR_NCLUST_BAD_SELECTOR.
 */
export function selectApps(targets, { slots, events }) {
  const known = knownSlots(slots, events);
  /** @type {Map<string, SelectedApp>} */
  const meant = new Map();
  for (const target of targets) {
    const isListed = (/** @type {Named} */ { name }) => findDeletion(events, name) === null;
    const found = describeMeaning(
      target,
      target === 'all' ? (slots.length > 0 ? slots : known.filter(isListed)) : known,
    );
    if (found.length === 0) throw notFound(target, known);
    for (const one of found) {
      const before = meant.get(one.name);
      meant.set(
        one.name,
        before?.ids && one.ids
          ? { name: one.name, ids: [...new Set([...before.ids, ...one.ids])] }
          : before
            ? { name: one.name, ids: null }
            : one,
      );
    }
  }
  return [...meant.values()];
}

/**
 * @param {Named[]} slots
 * @param {LoggedEvent[]} events
 */
function knownSlots(slots, events) {
  const names = new Map(slots.map((slot) => [`${slot.name}\t${slot.id}`, slot]));
  for (const { app, namespace = 'default', id = -1 } of events) {
    if (app !== undefined && !names.has(`${app}\t${id}`)) names.set(`${app}\t${id}`, { name: app, namespace, id });
  }
  return [...names.values()];
}

/**
 * Looks for a name, then a namespace, then an id, then a pattern, as all commands do.
 * @param {string} target
 * @param {Named[]} known
 * @returns {SelectedApp[]}
 */
function describeMeaning(target, known) {
  const whole = (/** @type {Named[]} */ found) =>
    [...new Set(found.map(({ name }) => name))].map((name) => ({ name, ids: null }));
  if (target === 'all') return whole(known);
  const named = known.filter(({ name }) => name === target);
  if (named.length > 0) return whole(named);
  const inSpace = known.filter(({ namespace }) => namespace === target);
  if (inSpace.length > 0) return whole(inSpace);
  const slot = known.find(({ id }) => String(id) === target);
  if (slot) return [{ name: slot.name, ids: [slot.id] }];
  const pattern = namePattern(target);
  return pattern ? whole(known.filter(({ name }) => pattern.test(name))) : [];
}

/**
 * @param {string} target
 * @param {Named[]} known
 */
function notFound(target, known) {
  const near = nearWords(target, [...new Set(known.map(({ name }) => name))]);
  const message =
    target === 'all'
      ? 'There is no app in the list.'
      : `There is no app, namespace or id "${target}" in the list or in the event log.`;
  return new NclustError('ERR_NCLUST_APP_NOT_FOUND', message, {
    hint:
      near.length > 0
        ? `Did you mean ${near
            .slice(0, 5)
            .map((name) => `"${name}"`)
            .join(' or ')}?`
        : 'nclust list',
    data: { target },
  });
}

/**
 * @param {SelectedApp[]} meant
 * @returns {(event: LoggedEvent) => boolean}
 */
export function isAbout(meant) {
  const ids = new Map(meant.map((one) => [one.name, one.ids]));
  return ({ app, id }) =>
    app !== undefined && ids.has(app) && (id === undefined || ids.get(app)?.includes(id) !== false);
}

/**
 * @param {{ events: LoggedEvent[] }} data
 * @param {View} view
 */
export function renderEvents({ events }, { options, paint }) {
  if (options.json) return events.map((event) => `${jsonLine(event)}\n`).join('');
  return events
    .map((event) => {
      const style = eventStyle(event);
      const words = toOneLine(eventWords(event));
      // Shows the date, because a user may follow the events for days.
      return (
        `${paint('dim', clockTime(event.at, 0))} ${paint('cyan', whose(event))} ` +
        `${style ? paint(style, words) : words}\n`
      );
    })
    .join('');
}

/** @param {LoggedEvent} event */
function whose({ app, id }) {
  if (app === undefined) return 'nclust';
  return toOneLine(id === undefined ? app : `${id}|${app}`);
}
