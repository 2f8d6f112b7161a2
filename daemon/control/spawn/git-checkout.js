/** @import { Versioning } from '../../../lib/shared/spec/versioning.js' */
/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */

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
  const { readGitFolder } = await import('../../../lib/shared/host/git-folder.js');
  const found = new Map([...roots].map((root) => [root, readGitFolder(root)]));
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
