import { writeNote } from '../keeper-link/tell.js';
import { cancelTimers } from '../loop/effects.js';
import { giveChannelsBack, recordKeeperDeath } from '../state/keeper-deaths.js';
import { findSlot } from '../state/registry.js';
import { noteKey, readNote, parseNoteKey } from '../state/slot-history.js';
import { takeOverOrphans } from './take-over-orphans.js';

/** @import { LoopContext } from '../context.js' */
/** @import { ChildSnapshot, Snapshot } from '../keeper-link/link.js' */

/**
 * Exchanges notes with the keeper and adopts orphans. Afterwards the registry has no seats,
 * instances and samples, but still has the histories of slots.
 * @param {LoopContext} context
 * @returns {Promise<{ snapshot: Snapshot, orphans: ChildSnapshot[] }>}  Rejects with KeeperLost.
 */
export async function compareWithKeeper(context) {
  const known = new Map(context.registry.instances);
  const snapshot = /** @type {Snapshot} */ (await context.link?.request('snapshot', {}));
  exchangeNotes(context, snapshot.notes);
  const orphans = await takeOverOrphans(context, { notes: snapshot.notes, children: snapshot.children, known });
  dropRecords(context, new Set([...snapshot.children, ...orphans].map((child) => child.instanceId)));
  return { snapshot, orphans };
}

/**
 * Control calls this if it found no list of apps. A new home has no processes either.
 * @param {LoopContext} context
 * @param {number} count  Processes of apps.
 */
export function noteLostList(context, count) {
  context.isExact = count === 0;
  if (count === 0) return;
  const notice =
    `The list of apps was removed from the home, but ${count} processes of apps still run. ` +
    `To start again from the saved list, run: nclust kill && nclust resurrect`;
  context.registry.notices.add(notice);
  context.parts.managerLog('state-lost', { notice });
}

/**
 * Control calls this when a keeper has died.
 * @param {LoopContext} context
 */
export function noteKeeperDeath({ registry, parts }) {
  const id = recordKeeperDeath(registry, parts.clock.nowMs());
  const app = id === null ? null : findSlot(registry, id)?.app.spec.name;
  if (id !== null) parts.managerLog('channel-withheld', { app, id, reason: 'keepers died right after its start' });
}

/**
 * @param {LoopContext} context
 * @param {{ id: number }[]} slots  Slots that a command or a trigger starts again.
 */
export function restoreChannels(context, slots) {
  for (const id of giveChannelsBack(context.registry, slots)) writeNote(context, id);
}

/**
 * @param {LoopContext} context
 * @param {Record<string, unknown>} notes
 */
function exchangeNotes(context, notes) {
  const { histories } = context.registry;
  for (const [key, note] of Object.entries(notes)) {
    const id = parseNoteKey(key);
    if (id !== null) histories.set(id, readNote(note));
  }
  for (const id of histories.keys()) if (!(noteKey(id) in notes)) writeNote(context, id);
}

/**
 * @param {LoopContext} context
 * @param {Set<string>} alive
 */
function dropRecords({ parts, registry }, alive) {
  for (const seat of registry.seats.values()) cancelTimers(seat);
  for (const instanceId of registry.instances.keys()) if (!alive.has(instanceId)) parts.logs.detach(instanceId);
  registry.samples.clear();
  registry.seats.clear();
  registry.instances.clear();
}
