import { readLastEvents } from '../../../lib/shared/event-log.js';
import { optional, readParams, subscriptionName, text, toggle, wholeUpTo, withDefault } from '../api/params.js';

/** @import { LoggedEvent } from '../../../lib/shared/event-log.js' */
/** @import { MethodBody } from '../api/methods.js' */

const LINES = 200;
const LINES_MAX = 1_000;

/** About 5,000 entries. Control reads them in 10 ms. */
const READ_BYTES = 1024 * 1024;

const SHAPE = {
  app: optional(text),
  id: optional(wholeUpTo(Number.MAX_SAFE_INTEGER)),
  lines: withDefault(wholeUpTo(LINES_MAX), LINES),
  follow: toggle,
  subscription: optional(subscriptionName),
};

let lastSubscription = 0;

/** @type {MethodBody} */
export function eventLog({ parts, paths }, params, client) {
  const { app, id, lines, follow, subscription = `log-${++lastSubscription}` } = readParams(SHAPE, params);
  const isMeant = isAbout(app, id);
  const events = lines === 0 ? [] : readLastEvents(paths.events, READ_BYTES).filter(isMeant).slice(-lines);
  if (!follow) return { events };
  client.subscriptions.get(subscription)?.();
  const end = parts.eventLog.follow((event) => isMeant(event) && client.notifyEvent(subscription, event));
  if (client.signal.aborted) end();
  else client.subscriptions.set(subscription, end);
  return { events, subscription };
}

/**
 * An event of a whole app is about each slot of the app. An event of the manager is about all apps.
 * @param {string | undefined} app
 * @param {number | undefined} id
 * @returns {(event: LoggedEvent) => boolean}
 */
function isAbout(app, id) {
  return (event) =>
    app === undefined ||
    event.type.startsWith('manager:') ||
    (event.app === app && (id === undefined || event.id === undefined || event.id === id));
}
