import { readEvents } from '../shared/event-log.js';
import { homePaths } from '../shared/paths.js';
import { appsMeant, isAbout, readCount, readSince } from './events.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { LoggedEvent } from '../shared/event-log.js' */
/** @import { SlotStatus } from '../shared/wire/protocol.js' */

/** Lines of a timeline. */
const LINES = 30;

/**
 * Facts about one app.
 * @typedef {object} Story
 * @property {string} name
 * @property {SlotStatus[]} slots  The present ones; none if it is not in the list, or no manager
 *   answers.
 * @property {LoggedEvent[]} events  Of the app, and of the manager since the first of them.
 */

/**
 * Explains the state of apps.
 * @param {Context} context
 * @param {string[]} targets
 * @param {Record<string, any>} options
 * @returns {Promise<{ stories: Story[], isRunning: boolean, sinceMs: number, lines: number }>}
 *   Throws ERR_NCLUST_USAGE and ERR_NCLUST_APP_NOT_FOUND.
 */
export async function why(context, targets, options) {
  const sinceMs = readSince(options, Date.now(), 'why');
  const lines = readCount(options, LINES, 'why');
  const client = await context.running();
  const { slots } = /** @type {{ slots: SlotStatus[] }} */ (client ? await client.request('list') : { slots: [] });
  const events = readEvents(homePaths(context.home).events);
  const stories = appsMeant(targets, { slots, events }).map((meant) => {
    const isOurs = isAbout([meant]);
    const first = events.find(isOurs)?.at ?? Infinity;
    return {
      name: meant.name,
      slots: slots.filter(({ name, id }) => name === meant.name && meant.ids?.includes(id) !== false),
      events: events.filter((event) => isOurs(event) || (event.type.startsWith('manager:') && event.at >= first)),
    };
  });
  return { stories, isRunning: client !== null, sinceMs, lines };
}
