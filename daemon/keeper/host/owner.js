// The user of an app, and work on paths that the app chooses. As root the keeper could bind, link
// and remove anywhere, and an app can exchange a folder after any check. So the keeper works on
// such a path with the rights of the user.
import { describeError, log } from './log.js';

/** @typedef {{ uid: number, gid: number }} Owner */

/**
 * @param {{ uid?: number, gid?: number }} params  As the process is spawned with them.
 * @returns {Owner | null}  null: the process runs as the keeper does.
 */
export function ownerOf({ uid, gid }) {
  const [ownUid, ownGid] = [process.geteuid?.() ?? 0, process.getegid?.() ?? 0];
  if (ownUid !== 0) return null;
  const owner = { uid: uid ?? ownUid, gid: gid ?? ownGid };
  return owner.uid === ownUid && owner.gid === ownGid ? null : owner;
}

/**
 * Does something with the rights of an owner. The whole process has these rights until
 * `work` returns: it must be synchronous, and no other thread of the keeper may work on files
 * (test/unit/keeper/owner.test.js).
 * @template T
 * @param {Owner | null} owner  null: the keeper's own rights.
 * @param {() => T} work
 * @returns {T}  Throws what `work` throws.
 */
export function withUid(owner, work) {
  if (owner === null || process.geteuid?.() !== 0) return work();
  const { setgroups, setegid, seteuid } = process;
  const before = { gid: process.getegid?.() ?? 0, groups: process.getgroups?.() ?? [] };
  setgroups?.([owner.gid]); // The process of the app has no other groups either.
  try {
    setegid?.(owner.gid);
    seteuid?.(owner.uid);
    return work();
  } finally {
    comeBack(before);
  }
}

/**
 * A keeper that has lost its rights exits, and the next keeper takes over.
 * @param {{ gid: number, groups: number[] }} before
 */
function comeBack({ gid, groups }) {
  try {
    process.seteuid?.(0);
    process.setegid?.(gid);
    process.setgroups?.(groups);
  } catch (error) {
    log('rights-lost', describeError(error));
    process.exit(1);
  }
}
