import { ago, clockTime } from '../../../../lib/render/time.js';
import { foldEvents } from '../../../../lib/render/why-fold.js';
import { el } from './dom.js';

/** @import { LoggedEvent } from '../../../../lib/shared/event-log.js' */

const SHOWN = 60;

/**
 * What has happened to an app, the newest first: what `nclust why` tells.
 * @param {LoggedEvent[]} events
 * @param {{name: string, id: number|null}} about
 * @returns {LoggedEvent[]}
 */
export function eventsAbout(events, { name, id }) {
  const isOurs = (/** @type {LoggedEvent} */ event) => event.app === name && (id === null || event.id === undefined || event.id === id);
  const first = events.find(isOurs)?.at ?? Infinity;
  return events.filter((event) => isOurs(event) || (event.type.startsWith('manager:') && event.at >= first));
}

/** @param {LoggedEvent[]} events @param {number} nowMs @returns {HTMLElement} */
export function timelineOf(events, nowMs) {
  const lines = foldEvents(events).slice(-SHOWN).reverse();
  if (lines.length === 0) return el('p', { className: 'empty' }, 'The log of events has nothing about it.');
  return el('ol', { className: 'timeline' }, ...lines.map(({ at, text, style }) => el('li', { className: style ?? '' }, el('time', { dateTime: new Date(at).toISOString(), title: ago(at, nowMs) }, clockTime(at, nowMs)), el('span', {}, text))));
}

/** Whether a list of events is another one than before. @param {LoggedEvent[]} events */
export function stampOf(events) {
  const last = events.at(-1);
  return `${events.length} ${last?.at} ${last?.type} ${last?.instanceId}`;
}
