import { tell } from '../keeper-link/tell.js';
import { noteKey, readNote, slotOfNote } from '../state/slot-history.js';
import { takeOverOrphans } from './take-over-orphans.js';

/** @import { ChildFact, Snapshot } from '../keeper-link/link.js' */
/** @import { Core } from '../keeper-link/tell.js' */

/**
 * The first conversation with a keeper: what does it know, and what does it have to be told. The
 * records are empty afterwards, but for the past of the slots.
 * @param {Core} core  Its link leads to the keeper.
 * @returns {Promise<{ snapshot: Snapshot, orphans: ChildFact[] }>}  Rejects with KeeperLost.
 */
export async function introduce(core) {
  const known = new Map(core.world.instances);
  const snapshot = /** @type {Snapshot} */ (await core.link?.request('snapshot', {}));
  exchangeNotes(core, snapshot.notes);
  const orphans = await takeOverOrphans(core, { notes: snapshot.notes, children: snapshot.children, known });
  dropRecords(core, new Set([...snapshot.children, ...orphans].map((fact) => fact.instanceId)));
  return { snapshot, orphans };
}

/**
 * A keeper that has notes knows the past of the slots; one that has none is told.
 * @param {Core} core
 * @param {Record<string, unknown>} notes
 */
function exchangeNotes(core, notes) {
  const { memories } = core.world;
  for (const [key, note] of Object.entries(notes)) {
    const id = slotOfNote(key);
    if (id !== null) memories.set(id, readNote(note));
  }
  for (const [id, memory] of memories)
    if (!(noteKey(id) in notes)) tell(core, 'note', { key: noteKey(id), value: memory });
}

/**
 * Empties the records before they are made anew from facts. Pipes of what lives on stay open.
 * @param {Core} core
 * @param {Set<string>} alive  Instance ids.
 */
function dropRecords({ parts, world }, alive) {
  for (const seat of world.seats.values()) seat.cancelTimer();
  for (const instanceId of world.instances.keys()) if (!alive.has(instanceId)) parts.logs.detach(instanceId);
  world.pulses.clear();
  world.seats.clear();
  world.instances.clear();
}
