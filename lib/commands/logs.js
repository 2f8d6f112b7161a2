import { NclustError } from '../shared/errors.js';
import { absoluteScripts } from './listed.js';
import { notRunning } from './not-running.js';

/** @typedef {import('../shared/protocol.js').LogEntry} LogEntry */

/**
 * The last lines of apps, and then their new ones until the manager or the reader ends.
 * @param {import('../context.js').Context} context
 * @param {string[]} targets  None: all.
 * @param {Record<string, any>} options
 * @returns {AsyncGenerator<{entries: LogEntry[]}, void, void>}  Throws ERR_NCLUST_DAEMON_NOT_RUNNING and ERR_NCLUST_APP_NOT_FOUND.
 */
export async function* logs(context, targets, options) {
  const client = await context.running();
  if (!client) throw notRunning(context);
  const request = { ...(targets.length > 0 ? { targets: await absoluteScripts(context, client, targets) } : {}), ...streamsOf(options), follow: options.nostream !== true };
  const first = await client.request('logs', { ...request, lines: linesOf(options) });
  if (first.entries.length > 0) yield { entries: first.entries };
  let { subscription } = first;
  while (subscription !== undefined) {
    yield* follow(client, subscription);
    context.talk('The manager went away; waiting for it to come back. What is written meanwhile is in the log files.');
    subscription = await subscribeAgain(context, client, request);
  }
}

/**
 * @param {import('../client.js').Client} client
 * @param {unknown} subscription
 */
async function* follow(client, subscription) {
  for await (const { method, params } of client.notifications()) {
    if (method === 'log' && params?.subscription === subscription) yield /** @type {{entries: LogEntry[]}} */ (/** @type {unknown} */ (params));
  }
}

/**
 * @param {import('../context.js').Context} context
 * @param {import('../client.js').Client} client
 * @param {object} request
 */
async function subscribeAgain(context, client, request) {
  try {
    return (await client.request('logs', { ...request, lines: 0 })).subscription;
  } catch (error) {
    if (!(error instanceof NclustError) || error.code !== 'ERR_NCLUST_CONNECTION_LOST') throw error;
    context.talk('The manager has ended.');
    return undefined;
  }
}

/** @param {Record<string, any>} options */
function streamsOf({ out, err }) {
  if (out === err) return {};
  return { streams: [out ? 'out' : 'err'] };
}

/** @param {Record<string, any>} options */
function linesOf({ lines = '15' }) {
  if (/^\d{1,6}$/.test(lines)) return Number(lines);
  throw new NclustError('ERR_NCLUST_USAGE', `--lines is "${lines}"; accepted: a whole number from 0.`);
}
