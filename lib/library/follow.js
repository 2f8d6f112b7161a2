import { openClient } from '../client/client.js';
import { connectOnly } from '../client/connect.js';
import { streamLogs } from '../client/log-stream.js';
import { notRunningError } from '../client/not-running.js';
import { MOMENT_FORMS, parseMoment, readGrep } from '../config/options/log-query.js';
import { toNclustError, NclustError } from '../shared/errors.js';
import { readTargets } from './changes.js';

/** @import { Client } from '../client/client.js' */
/** @import { Level } from '../shared/logs/level.js' */
/** @import { LogEntry } from '../shared/wire/protocol.js' */
/** @import { Targets } from './changes.js' */

/** @typedef {{ type: string, at: number } & Record<string, any>} BusEvent  See docs/protocol.md. */

/** One name is enough, because each connection has one subscription. */
const SUBSCRIPTION = 'events';

/**
 * If control dies this number of times before it answers, followEvents() throws, because the
 * request is probably the cause.
 */
const MAX_FRUITLESS = 5;

/**
 * Each subscription has its own connection, so that a slow reader delays no other call.
 * @param {string} home
 * @param {SubscriptionHooks} o
 * @returns {Promise<Client>}
 */
async function openForReading(home, { signal, onClient }) {
  const reach = (/** @type {AbortSignal | undefined} */ one) => connectOnly(home, one);
  const client = await openClient(reach, reach, { isHeld: false, signal });
  if (!client) throw notRunningError({ home });
  onClient(client);
  return client;
}

/**
 * Continues when control restarts. Then it calls onMissed(null), because the number of missed
 * events is not known.
 * @param {string} home
 * @param {{ types?: string[], onMissed: (count: number | null) => void }} options
 * @param {SubscriptionHooks} o
 * @returns {AsyncGenerator<BusEvent, void, void>}  Ends when the manager exits or `signal` aborts.
 */
export async function* followEvents(home, { types, onMissed }, o) {
  const client = await openForReading(home, o);
  let isAgain = false;
  for (let fruitless = 0; fruitless < MAX_FRUITLESS; fruitless += 1) {
    for await (const { method, params } of client.converse('events', {
      ...(types ? { types } : {}),
      subscription: SUBSCRIPTION,
    })) {
      fruitless = 0;
      if (method === undefined) {
        o.onReady();
        if (isAgain) onMissed(null);
        continue;
      }
      const { subscription, events, missed } =
        /** @type {{ subscription: string, events: BusEvent[], missed?: number }} */ (/** @type {unknown} */ (params));
      if (method !== 'event' || subscription !== SUBSCRIPTION) continue;
      if (missed) onMissed(missed);
      yield* events;
    }
    if (o.signal.aborted || !(await isManagerReachable(client))) return;
    isAgain = true;
  }
  throw new NclustError(
    'ERR_NCLUST_CONNECTION_LOST',
    `The connection to the manager was lost ${MAX_FRUITLESS} times before it answered.`,
    { hint: 'See its log, nclust.log in the home.' },
  );
}

/** @param {Client} client */
async function isManagerReachable(client) {
  try {
    await client.request('hello');
    return true;
  } catch (error) {
    if (error instanceof NclustError && error.code === 'ERR_NCLUST_CONNECTION_LOST') return false;
    throw error;
  }
}

/**
 * @typedef {object} LogOptions
 * @property {Targets} [targets]  Default: all.
 * @property {boolean} [follow]  Continue with new lines. Default: false.
 * @property {number} [lines]  Maximum number of old lines of each file. Default: 15; with `since`:
 *   all.
 * @property {('out' | 'err')[]} [streams]
 * @property {number | string | Date} [since]  Milliseconds since 1970, or how long ago: "2h".
 * @property {number | string | Date} [until]
 * @property {string | RegExp} [grep]
 * @property {Level} [level]
 * @property {(lines: number) => void} [onMissed]  Gets the number of lines that the manager left
 *   out, because this program reads too slowly.
 * @property {() => void} [onGap]  Called if lines are lost, because their file was deleted while
 *   the connection was down.
 */

/**
 * @param {{ home: string, cwd: string }} place
 * @param {LogOptions} options
 * @param {SubscriptionHooks} o
 * @returns {AsyncGenerator<LogEntry, void, void>}  Ends after the existing lines. With `follow`:
 *   ends when the manager exits.
 */
export async function* followLogs(
  { home, cwd },
  { targets, follow = false, since, until, grep, onMissed = () => {}, onGap = () => {}, ...same },
  o,
) {
  const { lines, streams, level } = same;
  const query = {
    follow,
    lines,
    streams,
    level,
    since: readMoment('since', since),
    until: readMoment('until', until),
    grep: readPattern(grep),
  };
  const client = await openForReading(home, o);
  const named =
    targets === undefined
      ? {}
      : { targets: await readTargets(targets, Object.assign(client.request.bind(client), { cwd })) };
  const pages = streamLogs(
    client,
    { ...named, ...query },
    { printMessage: () => {}, signal: o.signal, onCaughtUp: o.onReady, onMissed, onGap },
  );
  for await (const { entries } of pages) yield* entries;
}

/**
 * @param {string} key
 * @param {number | string | Date | undefined} value
 */
function readMoment(key, value) {
  if (value === undefined) return undefined;
  const moment = typeof value === 'string' ? parseMoment(value, Date.now()) : Number(value);
  if (moment !== null && Number.isFinite(moment)) return Math.max(0, Math.round(moment));
  throw new NclustError('ERR_NCLUST_USAGE', `${key} is ${JSON.stringify(value)}; accepted: a Date, ${MOMENT_FORMS}.`);
}

/** @param {string | RegExp | undefined} grep */
function readPattern(grep) {
  if (grep instanceof RegExp) return { source: grep.source, flags: grep.flags.replace(/[^imsu]/g, '') };
  return grep === undefined ? undefined : readGrep(grep);
}

/**
 * Starts at once. Items wait for next() in a bounded queue.
 * @template T
 * @typedef {import('../index.js').Subscription<T>} Subscription
 */

/**
 * @typedef {object} SubscriptionHooks
 * @property {AbortSignal} signal  Aborted when the subscription ends.
 * @property {() => void} onReady
 * @property {(client: Client) => void} onClient  Gets the connection. The subscription closes the
 *   connection.
 */

/**
 * @template T
 * @param {(o: SubscriptionHooks) => AsyncGenerator<T, void, void>} begin
 * @param {object} [o]
 * @param {AbortSignal} [o.signal]  Ends the subscription without an error.
 * @param {() => void} [o.onEnd]
 * @returns {Subscription<T>}  Keeps the program alive until `ready` resolves, and from the first
 *   next() until the subscription ends.
 */
export function createSubscription(begin, { signal, onEnd = () => {} } = {}) {
  const over = new AbortController();
  /** @type {Client | null} */
  let client = null;
  let [isReady, isRead] = [false, false];
  /** @type {() => void} */
  let resolveReady = () => {};
  /** @type {(error: unknown) => void} */
  let onFailed = () => {};
  /** @type {Promise<void>} */
  const ready = new Promise((resolve, reject) => {
    [resolveReady, onFailed] = [resolve, reject];
  });
  // Avoids an unhandled rejection if the caller does not use `ready`. next() reports the error too.
  ready.catch(() => {});

  const items = begin({
    signal: over.signal,
    onReady,
    onClient(opened) {
      client = opened;
      hold();
      if (over.signal.aborted) void client.close();
    },
  });
  // Starts the generator. The first next() returns this item.
  /** @type {Promise<IteratorResult<T, undefined>> | null} */
  let first = take();
  first.catch(() => {});

  signal?.addEventListener('abort', end, { once: true });
  if (signal?.aborted) end();

  /** @returns {Promise<IteratorResult<T, undefined>>} */
  async function take() {
    try {
      const item = await items.next();
      if (item.done) end();
      return item.done ? { done: true, value: undefined } : item;
    } catch (error) {
      // After end(), drops the error, because end() causes it when it closes the connection.
      if (over.signal.aborted) return { done: true, value: undefined };
      onFailed(toNclustError(error));
      end();
      throw toNclustError(error);
    }
  }

  // Keeps the program alive even before next(), until `ready` resolves: the program may await it.
  function hold() {
    client?.hold(isRead || !isReady);
  }

  function onReady() {
    isReady = true;
    hold();
    resolveReady();
  }

  function end() {
    if (over.signal.aborted) return;
    signal?.removeEventListener('abort', end);
    over.abort();
    onReady();
    void client?.close();
    onEnd();
  }

  /** @type {Subscription<T>} */
  const self = {
    ready,
    next() {
      isRead = true;
      hold();
      const item = first ?? take();
      first = null;
      return item;
    },
    async return() {
      end();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => self,
  };
  if (Symbol.asyncDispose) Object.assign(self, { [Symbol.asyncDispose]: async () => void (await self.return()) });
  return self;
}
