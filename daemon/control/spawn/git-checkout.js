/** @import { GitFolder } from '../../../lib/shared/host/git-folder.js' */
/** @import { Versioning } from '../../../lib/shared/spec/versioning.js' */
/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */

/** On a disk that hangs, in ms: it only decorates the list. */
const READ_MS = 1_000;

/** Looks that have not come back, by checkout. @type {Map<string, Promise<GitFolder | null>>} */
const looks = new Map();

/**
 * What the folders of git say of checkouts by now. Git itself was asked by the command that started
 * the apps: what only it knows is unknown of another revision.
 * @param {AppSpec[]} specs  A new generation is about to begin of them.
 * @returns {Promise<(spec: AppSpec) => AppSpec>}  Never rejects.
 */
export async function lookAtCheckouts(specs) {
  const roots = new Set(
    specs.flatMap(({ vizion, versioning }) => (vizion && versioning ? [versioning.repo_path] : [])),
  );
  if (roots.size === 0) return (spec) => spec;
  const found = new Map(
    await Promise.all([...roots].map(async (root) => /** @type {const} */ ([root, await atMost(READ_MS, look(root))]))),
  );
  return (spec) => {
    const folder = spec.versioning && found.get(spec.versioning.repo_path);
    if (!spec.versioning || !folder || folder.revision === spec.versioning.revision) return spec;
    /** @type {Versioning} */
    const versioning = {
      ...spec.versioning,
      url: folder.url,
      revision: folder.revision,
      branch: folder.branch,
      remotes: folder.remotes,
      remote: folder.remote,
      branch_exists_on_remote: folder.isOnRemote,
      comment: null,
      unstaged: null,
      ahead: false,
      update_time: new Date(folder.updatedAtMs).toISOString(),
    };
    return { ...spec, versioning };
  };
}

/**
 * One at a time: each that hangs keeps a thread of the few that there are.
 * @param {string} root
 */
function look(root) {
  const last = looks.get(root);
  if (last) return last;
  const fresh = import('../../../lib/shared/host/git-folder.js')
    .then(({ readGitFolder }) => readGitFolder(root))
    .finally(() => looks.delete(root));
  looks.set(root, fresh);
  return fresh;
}

/**
 * @template T
 * @param {number} ms
 * @param {Promise<T>} promise
 * @returns {Promise<T | null>}
 */
async function atMost(ms, promise) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms, null);
  });
  try {
    return await Promise.race([promise, /** @type {Promise<null>} */ (late)]);
  } finally {
    clearTimeout(timer);
  }
}
