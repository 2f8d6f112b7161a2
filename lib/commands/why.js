import { askTroubles } from '../client/troubles.js';
import { readEvents } from '../shared/event-log.js';
import { homePaths } from '../shared/paths.js';
import { selectTroubles } from '../shared/troubles.js';
import { selectApps, isAbout, readRange } from './events.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { Attention } from '../render/attention.js' */
/** @import { LoggedEvent } from '../shared/event-log.js' */
/** @import { Trouble } from '../shared/troubles.js' */
/** @import { SlotStatus } from '../shared/wire/protocol.js' */

const LINES = 30;

/**
 * @typedef {object} Story
 * @property {string} name
 * @property {SlotStatus[]} slots  Empty if the app is not in the list, or no manager runs.
 * @property {Trouble[]} troubles  The worst first.
 * @property {LoggedEvent[]} events  Events of the app, and events of the manager since the first
 *   event of the app.
 */

/**
 * @typedef {{ stories: Story[], isRunning: boolean, sinceMs: number, lines: number }} Stories
 */

/**
 * @param {Context} context
 * @param {string[]} targets  Empty: what needs attention.
 * @param {Record<string, any>} options
 * @returns {Promise<Stories | Attention>}
 */
export async function why(context, targets, options) {
  if (targets.length === 0) return listAttention(context);
  const { sinceMs, lines } = readRange(options, LINES, 'why');
  const client = await context.runningManager();
  const { slots } = /** @type {{ slots: SlotStatus[] }} */ (client ? await client.request('list') : { slots: [] });
  const troubles = client ? await askTroubles(client) : [];
  const events = readEvents(homePaths(context.home).events);
  const stories = selectApps(targets, { slots, events }).map((meant) => {
    const isOurs = isAbout([meant]);
    const isMeant = (/** @type {{ name: string, id: number }} */ { name, id }) =>
      name === meant.name && meant.ids?.includes(id) !== false;
    const own = slots.filter(isMeant);
    const first = events.find(isOurs)?.at ?? Infinity;
    return {
      name: meant.name,
      slots: own,
      troubles: selectTroubles(troubles, own),
      events: events.filter((event) => isOurs(event) || (event.type.startsWith('manager:') && event.at >= first)),
    };
  });
  return { stories, isRunning: client !== null, sinceMs, lines };
}

/**
 * @param {Context} context
 * @returns {Promise<Attention>}
 */
async function listAttention(context) {
  const client = await context.runningManager();
  if (!client) throw (await import('../client/not-running.js')).notRunningError(context);
  const { troubles } = await client.request('troubles');
  const { slots } = await client.request('list', { brief: true });
  return { troubles, slots, exitStatus: troubles.some((/** @type {Trouble} */ { level }) => level === 'bad') ? 1 : 0 };
}
