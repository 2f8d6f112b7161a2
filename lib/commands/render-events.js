import { clockTime } from '../render/time.js';
import { eventStyle, eventWords } from '../render/event-text.js';
import { oneLine } from '../render/text.js';

/** @typedef {import('../shared/event-log.js').LoggedEvent} LoggedEvent */

/**
 * A line for each event; with --json as it is in the log.
 * @param {{events: LoggedEvent[]}} data
 * @param {import('../render/list.js').View} view
 * @returns {string}
 */
export function renderEvents({ events }, { options, paint }) {
  if (options.json) return events.map((event) => `${JSON.stringify(event)}\n`).join('');
  return events.map((event) => {
    const style = eventStyle(event);
    const words = oneLine(eventWords(event));
    // The date always: who follows for days must not guess.
    return `${paint('dim', clockTime(event.at, 0))} ${paint('cyan', whose(event))} ${style ? paint(style, words) : words}\n`;
  }).join('');
}

/** As in front of log lines: "3|api". @param {LoggedEvent} event */
function whose({ app, id }) {
  if (app === undefined) return 'nclust';
  return oneLine(id === undefined ? app : `${id}|${app}`);
}
