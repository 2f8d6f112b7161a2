import { openClient } from '../client/client.js';
import { connectOnly } from '../client/connect.js';
import { notRunning } from '../client/not-running.js';
import { NclustError } from '../shared/errors.js';

/** @typedef {import('../client/client.js').Client} Client */

/**
 * @typedef {{type: string, at: number} & Record<string, any>} BusEvent  As docs/protocol.md describes it.
 */

/** One connection has one reader, so it needs one name. */
const SUBSCRIPTION = 'events';

/** A manager that dies so often before it tells anything is killed by what it is asked. */
const MAX_FRUITLESS = 5;

/**
 * A connection of its own: who reads slowly holds up nobody else.
 * @param {string} home
 * @param {import('./subscription.js').Beginning} o
 * @returns {Promise<Client>}  It does not start a manager. Throws ERR_NCLUST_DAEMON_NOT_RUNNING.
 */
export async function openForReading(home, { signal, onClient }) {
  const reach = (/** @type {AbortSignal|undefined} */ one) => connectOnly(home, one);
  const client = await openClient(reach, reach, { isHeld: false, signal });
  if (!client) throw notRunning({ home });
  onClient(client);
  return client;
}

/**
 * What happens and what apps say, over the end of one control and the start of the next.
 * @param {string} home
 * @param {{types?: string[], onMissed: (count: number|null) => void}} wishes  onMissed: so many were left out; null when nobody knows how many, because control was replaced.
 * @param {import('./subscription.js').Beginning} o
 * @returns {AsyncGenerator<BusEvent, void, void>}  Ends with the manager.
 */
export async function* followEvents(home, { types, onMissed }, o) {
  const client = await openForReading(home, o);
  let isAgain = false;
  for (let fruitless = 0; fruitless < MAX_FRUITLESS; fruitless += 1) {
    for await (const { method, params } of client.converse('events', { ...(types ? { types } : {}), subscription: SUBSCRIPTION })) {
      fruitless = 0;
      if (method === undefined) {
        o.onReady();
        if (isAgain) onMissed(null);
        continue;
      }
      const { subscription, events, missed } = /** @type {{subscription: string, events: BusEvent[], missed?: number}} */ (/** @type {unknown} */ (params));
      if (method !== 'event' || subscription !== SUBSCRIPTION) continue;
      if (missed) onMissed(missed);
      yield* events;
    }
    if (o.signal.aborted || !(await isBack(client))) return;
    isAgain = true;
  }
  throw new NclustError('ERR_NCLUST_CONNECTION_LOST', `The manager went away ${MAX_FRUITLESS} times before it told anything.`, { hint: 'Its log is nclust.log in the home.' });
}

/** @param {Client} client */
async function isBack(client) {
  try {
    await client.request('hello');
    return true;
  } catch (error) {
    if (error instanceof NclustError && error.code === 'ERR_NCLUST_CONNECTION_LOST') return false;
    throw error;
  }
}
