// Knows: the commands: their data, and their text if no other command shows the same.
// Must not: parse the command line, or print data: cli/perform.js does.
// Start at: this file, then apps/start.js for a command that changes something.
import { inspect } from 'node:util';
import { SORT_FIELDS } from '../render/list.js';
import { NclustError } from '../shared/errors.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { Survivor } from '../client/survivors.js' */
/** @import { SlotStatus } from '../shared/wire/protocol.js' */

/**
 * @param {Context} context
 * @param {string[]} _words
 * @param {Record<string, any>} options
 * @returns {Promise<{ slots: SlotStatus[], left?: Survivor[] }>}  Empty if no manager runs. `left`:
 *   processes of apps that still run without it.
 */
export async function list(context, _words, options) {
  if (options.sort !== undefined) checkOrder(options.sort);
  const client = await context.runningManager();
  if (!client) {
    const { printNotRunning } = await import('../client/not-running.js');
    const left = (await import('../client/survivors.js')).findSurvivors(context.home);
    printNotRunning(context);
    return { slots: [], ...(left.length > 0 ? { left } : {}) };
  }
  // Requests a brief status for the table, because the whole status of many apps is megabytes.
  const { slots, notices } = await client.request('list', { brief: !options.json && !options.miniList });
  for (const notice of notices) context.printMessage(notice);
  return { slots };
}

/** The same interval as PM2, in ms. */
const WATCH_MS = 900;

/**
 * @param {Context} context
 * @param {string[]} words
 * @param {Record<string, any>} options
 * @returns
 *   {ReturnType<typeof list> | AsyncGenerator<{ slots: SlotStatus[], nowMs: number }, void, void>}
 */
export function listOrWatch(context, words, options) {
  if (options.watch && options.json)
    throw new NclustError(
      'ERR_NCLUST_USAGE',
      '--watch and --json were given; accepted: one of the two. To follow events as JSON: nclust events --json',
    );
  return options.watch ? watchList(context, words, options) : list(context, words, options);
}

/**
 * @type {(
 *   ...given: Parameters<typeof list>
 * ) => AsyncGenerator<{ slots: SlotStatus[], nowMs: number }, void, void>}
 */
async function* watchList(context, words, options) {
  const { setTimeout: pause } = await import('node:timers/promises');
  const { slots: first } = await list(context, words, options);
  yield { slots: first, nowMs: Date.now() };
  const stop = new AbortController();
  const release = context.onInterrupt(() => stop.abort());
  try {
    for (;;) {
      await pause(WATCH_MS, undefined, { signal: stop.signal });
      const client = await context.runningManager();
      const { slots } = client ? await client.request('list', { brief: !options.miniList }) : { slots: [] };
      yield { slots, nowMs: Date.now() };
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    release();
  }
}

/**
 * Prints no messages, because programs read the output.
 * @param {Context} context
 * @returns {Promise<{ slots: SlotStatus[] }>}
 */
export async function listDetailed(context) {
  const client = await context.runningManager();
  if (!client) return { slots: [] };
  const { slots } = await client.request('list', { detail: true });
  return { slots };
}

/** @param {string} order */
function checkOrder(order) {
  const [field, direction = 'asc', ...more] = order.split(':');
  if (Object.hasOwn(SORT_FIELDS, field) && ['asc', 'desc'].includes(direction) && more.length === 0) return;
  throw new NclustError(
    'ERR_NCLUST_USAGE',
    `--sort is "${order}"; accepted: ${Object.keys(SORT_FIELDS).join(', ')}, each with :asc (the default) or :desc.`,
  );
}

/**
 * Empty for an unknown name, as in PM2, because scripts loop over the output.
 * @param {Context} context
 * @param {string[]} words  The name, or nothing.
 * @returns {Promise<{ slots: SlotStatus[] }>}
 */
export async function findSlots(context, [name]) {
  const client = await context.runningManager();
  if (!client) return { slots: [] };
  const { slots } = await client.request('list');
  return { slots: name === undefined ? slots : slots.filter((/** @type {SlotStatus} */ slot) => slot.name === name) };
}

/** @typedef {{ slots: SlotStatus[] }} Slots */

/** @param {Slots} data */
export function listPids({ slots }) {
  return slots.filter(({ pid }) => pid !== 0).map(({ pid }) => pid);
}

/** @param {Slots} data */
export function listIds({ slots }) {
  return slots.map(({ id }) => id);
}

/** @param {Slots} data */
export function renderPids(data) {
  return listPids(data)
    .map((pid) => `${pid}\n`)
    .join('');
}

/** @param {Slots} data  Printed as in PM2: "[ 1, 2 ]". */
export function renderIds(data) {
  return `${inspect(listIds(data), { maxArrayLength: null, breakLength: Infinity })}\n`;
}
