import { clockTime, formatAgo, formatPercent } from '../../../../lib/figures/format.js';
import { describeTrouble, describeTroubleSince } from '../../../../lib/render/troubles.js';
import { foldEvents } from '../../../../lib/render/why/fold.js';
import { arrange, el, setText } from './dom.js';
import { writeFragment } from './route.js';

/** @import { LoggedEvent } from '../../../../lib/shared/event-log.js' */
/** @import { MetricsSample } from '../../../../lib/shared/metrics.js' */
/** @import { Level, Trouble } from '../../../../lib/shared/troubles.js' */

/**
 * @typedef {object} Concern
 * @property {string} key
 * @property {Level} level
 * @property {string | null} app  Null: it concerns the machine or the manager.
 * @property {string} text
 * @property {string} next  A command or an advice. Empty: none.
 */

/**
 * @param {object} o
 * @param {MetricsSample} o.sample
 * @param {string[]} o.notices
 * @param {number} o.nowMs
 * @returns {Concern[]}  The troubles of apps first, the worst of them first.
 */
export function listConcerns({ sample, notices, nowMs }) {
  return [
    ...describeTroubles(sample.troubles ?? [], sample, nowMs),
    ...notices.map((text) => warning(text, text)),
    ...listFull(sample.host),
  ];
}

/**
 * @param {Trouble[]} troubles
 * @param {Pick<MetricsSample, 'apps'>} sample
 * @param {number} nowMs
 * @returns {Concern[]}
 */
export function describeTroubles(troubles, { apps }, nowMs) {
  return troubles.map((trouble) => {
    const { id, level, app } = trouble;
    const instances = apps.find(({ name }) => name === app)?.workers;
    const text = `${app} ${describeTroubleSince(trouble, { instances, nowMs })}`;
    return { key: id, level, app, text, next: describeTrouble(trouble, instances).next };
  });
}

/**
 * @param {MetricsSample['host']} host
 * @returns {Concern[]}
 */
function listFull({ memoryUsedBytes, memoryTotalBytes, diskUsedBytes, diskTotalBytes }) {
  /** @type {[string, number][]} */
  const full = [
    ['memory of this machine', memoryUsedBytes / memoryTotalBytes],
    ['disk of the home', (diskUsedBytes ?? 0) / (diskTotalBytes || 1)],
  ];
  return full
    .filter(([, share]) => share > 0.95)
    .map(([what, share]) => warning(what, `The ${what} is ${formatPercent(share * 100)} full`));
}

/**
 * @param {string} key
 * @param {string} text
 * @returns {Concern}
 */
function warning(key, text) {
  return { key, level: 'warn', app: null, text, next: '' };
}

/**
 * Keeps the items that are shown already, because a new link would lose the focus and a click.
 * @param {HTMLElement} list
 * @param {Concern[]} concerns
 */
export function showConcerns(list, concerns) {
  const items = new Map([...list.children].map((item) => [/** @type {HTMLElement} */ (item).dataset.key, item]));
  list.hidden = concerns.length === 0;
  arrange(
    list,
    concerns.map(({ key, level, app, text, next }) => {
      const item = items.get(key) ?? createItem(key, app);
      item.className = level;
      const [words, step] = /** @type {[Element, HTMLElement]} */ (/** @type {unknown} */ ([...item.children]));
      setText(words, text);
      setText(step, next);
      step.hidden = next === '';
      return item;
    }),
  );
}

/**
 * @param {string} key
 * @param {string | null} app
 * @returns {Element}
 */
function createItem(key, app) {
  const words = app === null ? el('span') : el('a', { href: writeFragment({ app }) });
  return el('li', { 'data-key': key }, words, el('code'));
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
