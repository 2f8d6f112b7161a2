import { clockTime, formatAgo, formatCount, formatDelay, formatPercent } from '../../../../lib/figures/format.js';
import { groupByApp, mergeStatus, needsAttention } from '../../../../lib/figures/rows.js';
import { eventWords } from '../../../../lib/render/event-text.js';
import { isAsked } from '../../../../lib/shared/death-text.js';
import { explain, listCrashes } from '../../../../lib/render/why/answer.js';
import { foldEvents } from '../../../../lib/render/why/fold.js';
import { findBlocked } from '../../../../lib/shared/metrics.js';
import { el } from './dom.js';

/** @import { LoggedEvent } from '../../../../lib/shared/event-log.js' */
/** @import { MetricsSample } from '../../../../lib/shared/metrics.js' */
/** @import { SlotStatus } from '../../../../lib/shared/wire/protocol.js' */

/** @typedef {{ level: 'bad' | 'warn', app: string | null, text: string }} Concern */

/** Older crashes and events no longer need attention, in ms. */
const LATELY_MS = 15 * 60_000;

const TELLING = new Set([
  'limit:memory',
  'limit:channel',
  'limit:logs',
  'rollout:halted',
  'rollout:rolled-back',
  'trigger:failed',
  'lost',
  'manager:state-lost',
  'manager:state-unwritten',
]);

/**
 * Worst first.
 * @param {object} o
 * @param {MetricsSample} o.sample
 * @param {SlotStatus[]} o.slots
 * @param {LoggedEvent[]} o.events
 * @param {string[]} o.notices
 * @param {number} o.nowMs
 * @returns {Concern[]}
 */
export function findConcerns({ sample, slots, events, notices, nowMs }) {
  const workersOf = groupByApp(sample.workers);
  const eventsOf = new Map(sample.apps.map(({ name }) => [name, /** @type {LoggedEvent[]} */ ([])]));
  for (const event of events) eventsOf.get(event.app ?? '')?.push(event);
  const concerns = [
    ...notices.map((text) => ({ level: /** @type {const} */ ('warn'), app: null, text })),
    ...machine(sample.host),
    ...sample.apps.flatMap(({ name }) => {
      const workers = workersOf.get(name) ?? [];
      const own = eventsOf.get(name) ?? [];
      return [
        ...standing(name, workers, { slots: slots.filter((slot) => slot.name === name), events: own, nowMs }),
        ...heldUp(name, workers),
        ...lately(own, nowMs),
      ];
    }),
    ...lately(
      events.filter(({ app }) => app === undefined),
      nowMs,
    ),
  ];
  return [...concerns.filter(({ level }) => level === 'bad'), ...concerns.filter(({ level }) => level === 'warn')];
}

/**
 * @param {string} name
 * @param {MetricsSample['workers']} workers
 * @param {{ slots: SlotStatus[], events: LoggedEvent[], nowMs: number }} about
 * @returns {Concern[]}
 */
function standing(name, workers, { slots, events, nowMs }) {
  const status = mergeStatus(workers);
  if (needsAttention(status)) {
    // The list may be older than the sample. Then it cannot explain the status.
    const known = slots.some((slot) => slot.status === status)
      ? explain({ name, slots, events }, { isRunning: true, nowMs }).text
      : `${name} is ${status}`;
    return [{ level: status === 'errored' ? 'bad' : 'warn', app: name, text: known }];
  }
  const crashes = listCrashes(events).filter(({ at }) => nowMs - at < LATELY_MS);
  const last = crashes.at(-1);
  if (!last) return [];
  return [
    {
      level: 'warn',
      app: name,
      text:
        `${name}: ${formatCount(crashes.length, 'crash', 'crashes')} recently, the last ` +
        `${formatAgo(last.at, nowMs)}: instance ${last.slot} ${eventWords(last)}`,
    },
  ];
}

/**
 * @param {string} name
 * @param {MetricsSample['workers']} workers
 * @returns {Concern[]}
 */
function heldUp(name, workers) {
  const held = findBlocked(workers);
  if (held.length === 0) return [];
  const longest = Math.max(...held.map(({ reportAgeMs }) => reportAgeMs ?? 0));
  return [
    {
      level: 'bad',
      app: name,
      text:
        `${name}: the event loop of ` +
        `${held.length === 1 ? `instance ${held[0].slot}` : formatCount(held.length, 'instance')} has been blocked ` +
        `for ${formatDelay(longest)}`,
    },
  ];
}

/**
 * @param {LoggedEvent[]} events
 * @param {number} nowMs
 * @returns {Concern[]}
 */
function lately(events, nowMs) {
  const last = events.findLast(
    (event) => TELLING.has(event.type) && nowMs - event.at < LATELY_MS && !isAsked(/** @type {any} */ (event)),
  );
  if (!last) return [];
  const who = last.app === undefined ? '' : `${last.app}: ${last.slot === undefined ? '' : `instance ${last.slot} `}`;
  return [{ level: 'warn', app: last.app ?? null, text: `${who}${eventWords(last)}, ${formatAgo(last.at, nowMs)}` }];
}

/**
 * @param {MetricsSample['host']} host
 * @returns {Concern[]}
 */
function machine({ memoryUsedBytes, memoryTotalBytes, diskUsedBytes, diskTotalBytes }) {
  /** @type {[string, number][]} */
  const full = [
    ['memory of this machine', memoryUsedBytes / memoryTotalBytes],
    ['disk of the home', (diskUsedBytes ?? 0) / (diskTotalBytes || 1)],
  ];
  return full
    .filter(([, share]) => share > 0.95)
    .map(([what, share]) => ({ level: 'warn', app: null, text: `The ${what} is ${formatPercent(share * 100)} full` }));
}

const SHOWN = 60;

/**
 * Returns the events of the app, and the events of the manager since the first event of the app.
 * @param {LoggedEvent[]} events
 * @param {{ name: string, id: number | null }} about
 */
export function filterEvents(events, { name, id }) {
  const isOurs = (/** @type {LoggedEvent} */ event) =>
    event.app === name && (id === null || event.id === undefined || event.id === id);
  const first = events.find(isOurs)?.at ?? Infinity;
  return events.filter((event) => isOurs(event) || (event.type.startsWith('manager:') && event.at >= first));
}

/**
 * @param {LoggedEvent[]} events
 * @param {number} nowMs
 * @returns {HTMLElement}
 */
export function renderTimeline(events, nowMs) {
  const lines = foldEvents(events).slice(-SHOWN).reverse();
  if (lines.length === 0) return el('p', { className: 'empty' }, 'The event log contains nothing about it.');
  return el(
    'ol',
    { className: 'timeline' },
    ...lines.map(({ at, text, style }) =>
      el(
        'li',
        { className: style ?? '' },
        el('time', { dateTime: new Date(at).toISOString(), title: formatAgo(at, nowMs) }, clockTime(at, nowMs)),
        el('span', {}, text),
      ),
    ),
  );
}

/** @param {LoggedEvent[]} events */
export function latestStamp(events) {
  const last = events.at(-1);
  return `${events.length} ${last?.at} ${last?.type} ${last?.instanceId}`;
}
