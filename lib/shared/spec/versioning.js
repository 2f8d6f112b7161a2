/**
 * Facts about the git checkout of the app. nclust reads these facts each time a command
 * starts, restarts or reloads the app. The properties have PM2's names.
 * @typedef {object} Versioning
 * @property {'git'} type
 * @property {string | null} url  Without password and token.
 * @property {string | null} revision
 * @property {string | null} comment  Message of the commit.
 * @property {boolean | null} unstaged  Whether tracked files had been changed.
 * @property {string} branch
 * @property {string[]} remotes
 * @property {string | null} remote
 * @property {boolean} branch_exists_on_remote
 * @property {boolean} ahead
 * @property {null} next_rev
 * @property {null} prev_rev
 * @property {string} update_time
 * @property {string} repo_path
 */

const TEXT_MAX = 4096;

/** @param {unknown} value */
export function isVersioning(value) {
  if (value === null) return true;
  return (
    typeof value === 'object' &&
    !Array.isArray(value) &&
    Object.values(value).every(
      (one) => one === null || typeof one === 'boolean' || isShort(one) || (Array.isArray(one) && one.every(isShort)),
    )
  );
}

/** @param {unknown} value */
function isShort(value) {
  return typeof value === 'string' && value.length <= TEXT_MAX;
}
