import { shellQuote } from '../shared/shell-quote.js';

/** @import { Deployment, HookName } from './settings.js' */

const MOVE_NEW = 'mv -fT "$root/.$2.new" "$root/$2" 2>/dev/null || mv -fh "$root/.$2.new" "$root/$2"';

/** @param {Deployment} deployment */
export function prelude({ path, repo, env }) {
  return `set -eu
root=${quotePath(path)}
repo=${shellQuote(repo)}
${Object.entries(env)
  .map(([key, value]) => `export ${key}=${shellQuote(value)}\n`)
  .join('')}# Whether somebody listens changes nothing.
say() { printf '%s %s %s\\n' "$mark" "$1" "$2" || :; }
currentRelease() {
  link=$(readlink "$root/current") || link=
  case $link in releases/*) echo "\${link#releases/}" ;; esac
}
say step start
# GNU and busybox have -T, the BSDs have -h: both keep mv from moving into the folder the link leads to.
switch() { ln -sfn "$1" "$root/.$2.new" && { ${MOVE_NEW}; }; }`;
}

export const NEEDS_SETUP = `if [ ! -d "$root/repo.git" ]; then
  echo "$root is not set up; first: deploy <environment> setup" >&2
  exit 1
fi`;

const BRANCHES_AND_TAGS = "'+refs/heads/*:refs/remotes/origin/*' '+refs/tags/*:refs/tags/*'";

export const FETCH = `say step fetch
if [ ! -d "$root/repo.git" ]; then git init --quiet --bare "$root/repo.git"; fi
git -C "$root/repo.git" config remote.origin.url "$repo"
git -C "$root/repo.git" fetch --quiet --prune --force origin ${BRANCHES_AND_TAGS}`;

/**
 * The switch. It is done, or undone, to its end also when the connection breaks in the middle.
 * @param {Deployment} deployment
 * @param {HookName} hookName
 */
export function activation(deployment, hookName) {
  return `say step switch
trap : HUP PIPE INT TERM
if [ -e "$root/current" ] && [ ! -L "$root/current" ]; then
  echo "$root/current is no link; move it away." >&2
  exit 1
fi
old=$(readlink "$root/current") || old=
switch "releases/$name" current
say switched "$name"
if [ ! -e "$root/source" ] && [ ! -L "$root/source" ]; then ln -s current "$root/source"; fi
say step ${hookName}
status=0
( cd "$root/current" && sh -c ${shellQuote(deployment.hooks[hookName] || ':')} ) || status=$?
if [ "$status" -ne 0 ]; then
  if [ -n "$old" ]; then switch "$old" current; else rm -f "$root/current"; fi
  say back "\${old##*/}"
  exit "$status"
fi`;
}

export function findCurrent() {
  return `at=$(grep -nxF -- "$(currentRelease)" "$root/.history" 2>/dev/null | tail -n 1 | cut -d: -f1)
if [ -z "$at" ]; then
  echo "$root/current leads to no release that was deployed." >&2
  exit 1
fi`;
}

/**
 * @param {Deployment} deployment
 * @param {HookName} name
 * @param {string | null} folder  A word of the shell. Null: the home.
 */
export function hook({ hooks }, name, folder) {
  if (hooks[name] === '') return '';
  return `say step ${name}
( ${folder === null ? '' : `cd "${folder}" && `}sh -c ${shellQuote(hooks[name])} )`;
}

/**
 * A name with a slash at its end is a folder, and made.
 * @param {string} path
 */
export function shareLine(path) {
  const name = shellQuote(path.replace(/\/+$/, ''));
  return `${path.endsWith('/') ? `mkdir -p "$root/shared/"${name}\n` : ''}mkdir -p "$(dirname "$release/"${name})"
rm -rf "$release/"${name}
ln -s "$root/shared/"${name} "$release/"${name}`;
}

/**
 * A path on a host, as one word of a shell. What begins with "~/", and what is relative, counts
 * from the home there, which only the shell there knows.
 * @param {string} path
 * @returns {string}
 */
export function quotePath(path) {
  if (path.startsWith('/')) return shellQuote(path);
  const rest = path.replace(/^~(\/|$)/, '').replace(/\/+$/, '');
  return rest === '' ? '"$HOME"' : `"$HOME"/${shellQuote(rest)}`;
}
