import { readUser } from '../../../lib/shared/host/as-user.js';

/** @import { GitFolder } from '../../../lib/shared/host/git-folder.js' */
/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */
/** @import { Clock } from '../host/clock.js' */

/** Time limit for a read, in ms. It is short, because the revision is only shown in the list. */
const READ_MS = 1_000;

/**
 * The latest read. The next read waits for it, because many reads from a disk that hangs would
 * occupy the thread pool.
 * @type {Promise<unknown>}
 */
let turn = Promise.resolve();
/** While a read is late, requests do not wait, and no other read starts. */
let isOverdue = false;

/**
 * Does not run git. If the revision has changed, the fields that only git can fill become unknown.
 * @param {AppSpec[]} specs
 * @param {Clock} clock
 * @returns {Promise<(spec: AppSpec) => AppSpec>}  Never rejects.
 */
export async function readCheckouts(specs, clock) {
  const wanted = new Map(
    specs.filter(({ vizion, versioning }) => vizion && versioning).map((spec) => [keyOf(spec), spec]),
  );
  if (wanted.size === 0) return (spec) => spec;
  const found = await readAll(wanted, clock);
  return (spec) => {
    const key = keyOf(spec);
    if (!spec.versioning || !wanted.has(key)) return spec;
    const folder = found.get(key);
    if (folder === null || folder?.revision === spec.versioning.revision) return spec;
    const unknown = { ...spec.versioning, comment: null, unstaged: null, ahead: false };
    if (!folder) return { ...spec, versioning: { ...unknown, revision: null } };
    const versioning = {
      ...unknown,
      url: folder.url,
      revision: folder.revision,
      branch: folder.branch,
      remotes: folder.remotes,
      remote: folder.remote,
      branch_exists_on_remote: folder.isOnRemote,
      update_time: new Date(folder.updatedAtMs).toISOString(),
    };
    return { ...spec, versioning };
  };
}

/**
 * The key contains the user, because a checkout is read with the rights of the app's user.
 * @param {AppSpec} spec
 */
function keyOf({ uid, gid, versioning }) {
  return `${uid} ${gid} ${versioning?.repo_path}`;
}

/**
 * @param {Map<string, AppSpec>} wanted  By keyOf().
 * @param {Clock} clock
 * @returns {Promise<Map<string, GitFolder | null>>}  Null: not a checkout, or not readable. If
 *   reading a checkout took too long, its key is missing.
 */
async function readAll(wanted, clock) {
  /** @type {Map<string, GitFolder | null>} */
  const found = new Map();
  if (isOverdue) return found;
  let isLate = false;
  const { readGitFolder } = await import('../../../lib/shared/host/git-folder.js');
  const look = turn.then(async () => {
    for (const [key, spec] of wanted)
      if (!isLate) found.set(key, await readGitFolder(spec.versioning?.repo_path ?? '', readUser(spec)));
    isOverdue = false;
  });
  turn = look;
  await new Promise((resolve) => {
    const cancel = clock.after(READ_MS, () => {
      isLate = true;
      isOverdue = true;
      resolve(undefined);
    });
    void look.then(() => {
      cancel();
      resolve(undefined);
    });
  });
  return new Map(found);
}
