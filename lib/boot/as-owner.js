/**
 * Does something with the rights of the user a service is for. What root writes into a folder of somebody else's may land elsewhere, through a link.
 * @template T
 * @param {{uid: number, gid: number}} owner
 * @param {() => T} work  Without waiting for anything.
 * @returns {T}
 */
export function asOwner({ uid, gid }, work) {
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
