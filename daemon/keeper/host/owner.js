// An app chooses the path of its Unix socket, and may replace a folder of this path after a check.
// A keeper with the rights of root could then bind or remove a file of another user. So the keeper
// uses the rights of the app's user.
import { describeError, log } from './log.js';

/** @typedef {{ uid: number, gid: number }} Owner */

/**
 * @param {{ uid?: number, gid?: number }} params
 * @returns {Owner | null}  null: the process runs as the user of the keeper.
 */
export function readOwner({ uid, gid }) {
  const [ownUid, ownGid] = [process.geteuid?.() ?? 0, process.getegid?.() ?? 0];
  if (ownUid !== 0) return null;
  const owner = { uid: uid ?? ownUid, gid: gid ?? ownGid };
  return owner.uid === ownUid && owner.gid === ownGid ? null : owner;
}

/**
 * Calls `work` with the rights of the owner. The whole process has these rights until `work`
 * returns. So `work` must be synchronous, and no other thread of the keeper may work on files
 * (test/unit/keeper/owner.test.js).
 * @template T
 * @param {Owner | null} owner  null: the rights of the keeper.
 * @param {() => T} work
 * @returns {T}
 */
export function callAsOwner(owner, work) {
  if (owner === null || process.geteuid?.() !== 0) return work();
  const { setgroups, setegid, seteuid } = process;
  const before = { gid: process.getegid?.() ?? 0, groups: process.getgroups?.() ?? [] };
  setgroups?.([owner.gid]);
  try {
    setegid?.(owner.gid);
    seteuid?.(owner.uid);
    return work();
  } finally {
    comeBack(before);
  }
}

/**
 * If the keeper cannot get its rights back, it exits, and control starts another keeper.
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
