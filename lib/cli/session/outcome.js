import { readVersion } from '../../shared/version.js';
import { carryOut } from './await-change.js';

/** @import { Method, SlotStatus } from '../../shared/wire/protocol.js' */
/** @import { Context } from './context.js' */

/**
 * @typedef {object} Outcome
 * @property {SlotStatus[]} slots  The slots that the command has changed.
 * @property {SlotStatus[]} all  The whole list; empty with --json.
 */

/** By method. @type {Record<string, [doing: string, done: string]>} */
export const VERBS = {
  delete: ['Deleting', 'Deleted'],
  reload: ['Reloading', 'Reloaded'],
  restart: ['Restarting', 'Restarted'],
  rollback: ['Rolling back', 'Rolled back'],
  scale: ['Scaling', 'Scaled'],
  start: ['Starting', 'Started'],
  stop: ['Stopping', 'Stopped'],
};

/**
 * Carries out a change of apps, and reports it.
 * @param {Context} context
 * @param {Method} method
 * @param {Record<string, unknown>} params
 * @param {string[]} words  The apps, as the user named them.
 * @returns {Promise<Outcome>}
 */
export async function change(context, method, params, words) {
  const [doing, done] = VERBS[method];
  const { slots } = await carryOut(context, method, params, `${doing} ${words.join(', ')}`);
  return reportChange(context, slots, done, doing);
}

/**
 * @template {{ name: string }} T
 * @param {Context} context
 * @param {T[]} slots  Slots, or other records with the name of an app.
 * @param {string} done  "Restarted".
 * @param {string} [doing]  "Restarting", if the command has not waited.
 * @returns {Promise<{ slots: T[], all: SlotStatus[] }>}
 */
export async function reportChange(context, slots, done, doing = done) {
  if (context.isJson) return { slots, all: [] };
  context.printMessage(`${context.isWaiting ? done : doing} ${summarise(slots)}.`);
  const client = await context.manager();
  const { slots: all, notices } = await client.request('list');
  for (const notice of notices) context.printMessage(notice);
  const version = readVersion();
  if (client.hello && client.hello.version !== version)
    context.printMessage(
      `The running manager is nclust ${client.hello.version}, this command is ${version}. Replace it with: ` +
        `nclust update`,
    );
  return { slots, all };
}

/** @param {{ name: string }[]} slots */
export function summarise(slots) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { name } of slots) counts.set(name, (counts.get(name) ?? 0) + 1);
  if (counts.size === 0) return 'nothing';
  return [...counts].map(([name, count]) => (count === 1 ? `"${name}"` : `"${name}" (${count} instances)`)).join(', ');
}
