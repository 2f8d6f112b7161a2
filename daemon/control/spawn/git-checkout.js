/** @import { GitFolder } from '../../../lib/shared/host/git-folder.js' */
/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */
/** @import { Clock } from '../host/clock.js' */

/** How long a request waits for a disk that hangs, in ms: the answer only decorates the list. */
const READ_MS = 1_000;

/**
 * The last look. They wait for each other: a disk that hangs keeps one of the few threads of the
 * process, and not all.
 * @type {Promise<unknown>}
 */
let turn = Promise.resolve();
/** Whether it is late. No request waits for it any more. */
let isOverdue = false;

/**
 * Reads from the git folders which revisions are checked out now. Git itself was asked by the
 * command that started the apps: what only git knows is unknown of another revision.
 * @param {AppSpec[]} specs  A new generation is about to begin of them.
 * @param {Clock} clock
 * @returns {Promise<(spec: AppSpec) => AppSpec>}  Never rejects.
 */
export async function lookAtCheckouts(specs, clock) {
  const roots = new Set(
    specs.flatMap(({ vizion, versioning }) => (vizion && versioning ? [versioning.repo_path] : [])),
  );
  if (roots.size === 0) return (spec) => spec;
  const found = await lookAt(roots, clock);
  return (spec) => {
    const root = spec.versioning?.repo_path ?? '';
    if (!spec.versioning || !roots.has(root)) return spec;
    const folder = found.get(root);
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
 * @param {Set<string>} roots
 * @param {Clock} clock
 * @returns {Promise<Map<string, GitFolder | null>>}  Without those that were not read in time.
 */
async function lookAt(roots, clock) {
  /** @type {Map<string, GitFolder | null>} */
  const found = new Map();
  if (isOverdue) return found;
  let isLate = false;
  const { readGitFolder } = await import('../../../lib/shared/host/git-folder.js');
  const look = turn.then(async () => {
    for (const root of roots) if (!isLate) found.set(root, await readGitFolder(root));
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
