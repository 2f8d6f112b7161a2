/** @typedef {{ uid: number, gid: number }} Owner */

/**
 * Works with the rights of the owner of a folder, because root could follow a link in a folder of
 * another user.
 * @template T
 * @param {Owner} owner
 * @param {() => T} work  Synchronous: no other work of the process may get these rights.
 */
export function runAsOwner({ uid, gid }, work) {
  const { geteuid, getegid, seteuid, setegid, setgroups, getgroups } = process;
  const [before, groupBefore] = [geteuid?.() ?? uid, getegid?.() ?? gid];
  if (before === uid || before !== 0) return work();
  const groups = getgroups?.() ?? [];
  setgroups?.([gid]);
  setegid?.(gid);
  seteuid?.(uid);
  try {
    return work();
  } finally {
    seteuid?.(before);
    setegid?.(groupBefore);
    setgroups?.(groups);
  }
}
