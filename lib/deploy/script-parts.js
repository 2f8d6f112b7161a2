import { shellQuote } from '../shared/shell-quote.js';

/** @import { Deployment, HookName } from './deployment.js' */

const NEW_TO_OLD = '"$nclust_root/.$2.new" "$nclust_root/$2"';

/**
 * Returns the beginning of every script. Variables of scripts begin with "nclust_". deployment.js
 * does not allow such names in `env`, so scripts and users cannot overwrite each other's variables.
 * @param {Deployment} deployment
 */
export function prelude({ path, repo, env }) {
  return `set -eu
nclust_root=${quotePath(path)}
nclust_repo=${shellQuote(repo)}
${Object.entries(env)
  .map(([key, value]) => `export ${key}=${shellQuote(value)}\n`)
  .join('')}# The script continues even if the connection is lost.
say() { printf '%s %s %s\\n' "$nclust_mark" "$1" "$2" || :; }
currentRelease() {
  nclust_link=$(readlink "$nclust_root/current") || nclust_link=
  case $nclust_link in releases/*) echo "\${nclust_link#releases/}" ;; esac
}
say step start
# GNU and busybox have -T, the BSDs have -h: both keep mv from moving into the folder the link leads to.
switch() { ln -sfn "$1" "$nclust_root/.$2.new" && { mv -fT ${NEW_TO_OLD} 2>/dev/null || mv -fh ${NEW_TO_OLD}; }; }`;
}

export const NEEDS_SETUP = `if [ ! -d "$nclust_root/repo.git" ]; then
  echo "$nclust_root is not set up; run first: nclust deploy <environment> setup" >&2
  exit 1
fi`;

const BRANCHES_AND_TAGS = "'+refs/heads/*:refs/remotes/origin/*' '+refs/tags/*:refs/tags/*'";

export const FETCH = `say step fetch
if [ ! -d "$nclust_root/repo.git" ]; then git init --quiet --bare "$nclust_root/repo.git"; fi
git -C "$nclust_root/repo.git" config remote.origin.url "$nclust_repo"
git -C "$nclust_root/repo.git" fetch --quiet --prune --force origin ${BRANCHES_AND_TAGS}`;

/**
 * Makes $nclust_name the current release, then runs the hook. If the hook fails, makes the previous
 * release current again. The host completes or undoes the switch even if the connection breaks.
 * @param {Deployment} deployment
 * @param {HookName} hookName
 */
export function activation(deployment, hookName) {
  return `say step switch
trap : HUP PIPE INT TERM
if [ -e "$nclust_root/current" ] && [ ! -L "$nclust_root/current" ]; then
  echo "$nclust_root/current is not a link; move it away." >&2
  exit 1
fi
nclust_old=$(readlink "$nclust_root/current") || nclust_old=
switch "releases/$nclust_name" current
say switched "$nclust_name"
if [ ! -e "$nclust_root/source" ] && [ ! -L "$nclust_root/source" ]; then ln -s current "$nclust_root/source"; fi
say step ${hookName}
nclust_status=0
( cd "$nclust_root/current" && sh -c ${shellQuote(deployment.hooks[hookName] || ':')} ) || nclust_status=$?
if [ "$nclust_status" -ne 0 ]; then
  if [ -n "$nclust_old" ]; then switch "$nclust_old" current; else rm -f "$nclust_root/current"; fi
  say back "\${nclust_old##*/}"
  exit "$nclust_status"
fi`;
}

export function findCurrent() {
  return `nclust_at=$(grep -nxF -- "$(currentRelease)" "$nclust_root/.history" 2>/dev/null | tail -n 1 | cut -d: -f1)
if [ -z "$nclust_at" ]; then
  echo "$nclust_root/current does not point to a deployed release." >&2
  exit 1
fi`;
}

/**
 * @param {Deployment} deployment
 * @param {HookName} name
 * @param {string | null} folder  May contain shell variables. Null: the home directory.
 */
export function hook({ hooks }, name, folder) {
  if (hooks[name] === '') return '';
  return `say step ${name}
( ${folder === null ? '' : `cd "${folder}" && `}sh -c ${shellQuote(hooks[name])} )`;
}

/**
 * Links a shared path into the release. A name that ends with a slash is a folder, and is created.
 * "rm" must not follow a link of the repository, because it could lead into the shared folder.
 * @param {string} path
 */
export function shareLine(path) {
  const name = shellQuote(path.replace(/\/+$/, ''));
  const make = path.endsWith('/') ? `mkdir -p "$nclust_root/shared/"${name}\n` : '';
  return `${make}mkdir -p "$(dirname "$nclust_release/"${name})"
case $(cd -P "$(dirname "$nclust_release/"${name})" && pwd)/ in "$(cd -P "$nclust_release" && pwd)"/*) ;;
*) echo "The shared path "${name}" leads out of the release, through a link in the repository." >&2; exit 1 ;;
esac
rm -rf "$nclust_release/"${name}
ln -s "$nclust_root/shared/"${name} "$nclust_release/"${name}`;
}

/**
 * A path that is relative or begins with "~/" starts at $HOME, which only the host knows.
 * @param {string} path
 */
export function quotePath(path) {
  if (path.startsWith('/')) return shellQuote(path);
  const rest = path.replace(/^~(\/|$)/, '').replace(/\/+$/, '');
  return rest === '' ? '"$HOME"' : `"$HOME"/${shellQuote(rest)}`;
}
