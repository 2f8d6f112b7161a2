import { streamLogs } from '../client/log-stream.js';
import { noManagerError } from '../client/not-running.js';
import { askTroubles } from '../client/troubles.js';
import { snapshot } from '../config/spec/build.js';
import { diffDeclared, envDiff } from '../config/spec/environment-diff.js';
import { absoluteScripts } from '../library/targets.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { Client } from '../client/client.js' */
/** @import { LogRequest } from '../client/log-stream.js' */
/** @import { Difference } from '../config/spec/environment-diff.js' */
/** @import { Trouble } from '../shared/troubles.js' */
/** @import { LogEntry, SlotStatus } from '../shared/wire/protocol.js' */

const ERROR_LINES = 5;

/** Above this number of processes, the error tails are left out. */
const WITH_ERRORS_MAX = 20;

/**
 * @typedef {object} Described
 * @property {SlotStatus[]} slots
 * @property {Trouble[]} troubles  Of the apps, the worst first.
 * @property {Record<number, Difference[]>} differences  By id.
 * @property {Record<number, LogEntry[]>} errors  By id: the last lines of stderr.
 */

/**
 * @param {Context} context
 * @param {string[]} targets
 * @returns {Promise<Described>}
 */
export async function describe(context, targets) {
  const client = await context.runningManager();
  if (!client) throw noManagerError(context, targets);
  const meant = await absoluteScripts(context, client, targets);
  /** @type {{ slots: SlotStatus[], notices: string[] }} */
  const { slots, notices } = await client.request('list', { targets: meant, detail: true });
  const troubles = await askTroubles(client, meant);
  for (const notice of notices) context.printMessage(notice);
  const shell = snapshot(context.env);
  const differences = Object.fromEntries(slots.map((slot) => [slot.id, diffDeclared(slot, shell, context.home)]));
  const errors = slots.length > WITH_ERRORS_MAX ? {} : await lastErrors(client, slots);
  return { slots, troubles, differences, errors };
}

/**
 * @param {Client} client
 * @param {SlotStatus[]} slots
 */
async function lastErrors(client, slots) {
  /** @type {Record<number, LogEntry[]>} */
  const errors = Object.fromEntries(slots.map(({ id }) => [id, []]));
  /** @type {LogRequest} */
  const request = { targets: slots.map(({ id }) => String(id)), streams: ['err'], lines: ERROR_LINES, follow: false };
  for await (const { entries } of streamLogs(client, request, {
    printMessage: () => {},
    signal: new AbortController().signal,
  })) {
    for (const entry of entries) errors[entry.id]?.push(entry);
  }
  return errors;
}

/**
 * @param {Context} context
 * @param {string[]} words  One target; the first of several instances counts.
 * @param {{ diff?: boolean }} [options]
 * @returns {Promise<{ env: Record<string, string>, differences?: Difference[] }>}  Secrets are
 *   masked.
 */
export async function env(context, [target], { diff = false } = {}) {
  const client = await context.runningManager();
  if (!client) throw noManagerError(context, [target]);
  const { slots } = await client.request('list', { targets: [target], detail: true });
  const [slot] = slots;
  const given = slot?.effectiveEnv ?? {};
  return { env: given, ...(diff && slot ? { differences: envDiff(slot, snapshot(context.env), context.home) } : {}) };
}
