import { shellQuote } from '../shared/shell-quote.js';
import { keepLock, lockWithin } from './lock.js';
import { activation, FETCH, findCurrent, hook, NEEDS_SETUP, prelude, shareLine } from './script-parts.js';

/** @import { Lock } from './lock.js' */
/** @import { Deployment, HookName } from './deployment.js' */

// Scripts for a host. They need POSIX sh, git and the usual tools, but not nclust. The folder of a
// deployment contains:
//
//   repo.git     all fetched commits
//   releases/    <time>-<commit>, each a working tree of its own
//   shared/      files that outlive a release
//   current      -> releases/..., replaced by rename(2)
//   source       -> current, the name that PM2 uses
//   .history     releases that were current, the oldest first, one release on each line
//   .lock        the owner of a change in progress, see lock.js
//
// say() reports a fact to remote.js. remote.js sets $nclust_mark, which marks the lines of say().

const CHECKOUT_OPTIONS = '-c core.hooksPath=/dev/null -c advice.detachedHead=false';
const COMMIT_SHOWN = `git -C "$nclust_root/releases/$nclust_name" log -1 --format='%s (%an, %cd)' --date=short`;

/** @param {Deployment} deployment */
export function fetchScript(deployment) {
  return `${prelude(deployment)}
say step setup
mkdir -p "$nclust_root/releases" "$nclust_root/shared/logs" "$nclust_root/shared/pids"
${FETCH}
`;
}

/**
 * Fetches first. If a branch and a tag have the same name, the branch wins.
 * @param {Deployment} deployment
 * @param {string} ref
 */
export function resolveScript(deployment, ref) {
  return `${prelude(deployment)}
nclust_ref=${shellQuote(ref)}
${NEEDS_SETUP}
${FETCH}
for nclust_one in "refs/remotes/origin/$nclust_ref" "refs/tags/$nclust_ref" "$nclust_ref"; do
  nclust_commit=$(git -C "$nclust_root/repo.git" rev-parse --verify --quiet "$nclust_one^{commit}") && break
done
if [ -z "$nclust_commit" ]; then
  echo "There is no \\"$nclust_ref\\" in $nclust_repo." >&2
  exit 1
fi
say commit "$nclust_commit"
`;
}

/**
 * Creates a release that is not current yet.
 * @param {Deployment} deployment
 * @param {object} o
 * @param {string} o.commit
 * @param {string} o.time  As in the name of the release.
 * @param {boolean} o.hasHook  Whether to run pre-deploy.
 */
export function stageScript(deployment, { commit, time, hasHook }) {
  return `${prelude(deployment)}
nclust_commit=${shellQuote(commit)}
${NEEDS_SETUP}
say previous "$(currentRelease)"
${FETCH}
say step checkout
nclust_base=${shellQuote(`${time}-${commit.slice(0, 7)}`)}
nclust_name=$nclust_base
nclust_n=1
while [ -e "$nclust_root/releases/$nclust_name" ]; do
  nclust_n=$((nclust_n + 1))
  nclust_name="$nclust_base-$nclust_n"
done
nclust_release="$nclust_root/releases/$nclust_name"
git -C "$nclust_root/repo.git" worktree prune
git -C "$nclust_root/repo.git" ${CHECKOUT_OPTIONS} worktree add --quiet --detach "$nclust_release" "$nclust_commit"
if [ -f "$nclust_release/.gitmodules" ]; then git -C "$nclust_release" submodule --quiet update --init --recursive; fi
${deployment.shared.map(shareLine).join('\n')}
say release "$nclust_name"
${hasHook ? hook(deployment, 'pre-deploy', '$nclust_release') : ''}
`;
}

/**
 * If the hook fails, the previous release becomes current again.
 * @param {Deployment} deployment
 * @param {object} o
 * @param {string} o.release
 * @param {HookName} o.hookName
 * @param {Lock} o.lock  The command already holds this lock. The script removes the lock when
 *   it exits.
 */
export function activateScript(deployment, { release, hookName, lock }) {
  return `${prelude(deployment)}
nclust_name=${shellQuote(release)}
${keepLock(lock)}
${activation(deployment, hookName)}
{ cat "$nclust_root/.history" 2>/dev/null || :; echo "$nclust_name"; } |
  tail -n ${deployment.releases} > "$nclust_root/.history.new"
mv -f "$nclust_root/.history.new" "$nclust_root/.history"
# Removes every release that is not in the list. No other deployment runs, because this one has the lock.
for nclust_one in "$nclust_root"/releases/*; do
  nclust_one=\${nclust_one##*/}
  if ! grep -qxF -- "$nclust_one" "$nclust_root/.history"; then rm -rf "$nclust_root/releases/$nclust_one"; fi
done
git -C "$nclust_root/repo.git" worktree prune
say active "$nclust_name"
`;
}

/**
 * @param {Deployment} deployment
 * @param {number} back
 * @param {Lock} lock  The script takes this lock, and removes it when it exits.
 */
export function revertScript(deployment, back, lock) {
  return `${prelude(deployment)}
${NEEDS_SETUP}
${lockWithin(lock)}
${findCurrent()}
nclust_target=$((nclust_at - ${back}))
if [ "$nclust_target" -lt 1 ]; then
  echo "There are only $((nclust_at - 1)) releases before $(currentRelease), not ${back}." >&2
  exit 1
fi
nclust_name=$(sed -n "\${nclust_target}p" "$nclust_root/.history")
if [ ! -d "$nclust_root/releases/$nclust_name" ]; then
  echo "$nclust_root/releases/$nclust_name does not exist any more." >&2
  exit 1
fi
say release "$nclust_name"
say previous "$(currentRelease)"
${activation(deployment, 'post-deploy')}
head -n "$nclust_target" "$nclust_root/.history" > "$nclust_root/.history.new"
mv -f "$nclust_root/.history.new" "$nclust_root/.history"
say active "$nclust_name"
`;
}

/**
 * @param {Deployment} deployment
 * @param {number} back  0: the current release.
 */
export function showScript(deployment, back) {
  return `${prelude(deployment)}
${NEEDS_SETUP}
${findCurrent()}
nclust_target=$((nclust_at - ${back}))
if [ "$nclust_target" -lt 1 ]; then
  echo "There is no release before $(currentRelease)." >&2
  exit 1
fi
nclust_name=$(sed -n "\${nclust_target}p" "$nclust_root/.history")
echo "$(git -C "$nclust_root/releases/$nclust_name" rev-parse HEAD) $nclust_name"
`;
}

/** @param {Deployment} deployment */
export function listScript(deployment) {
  return `${prelude(deployment)}
${NEEDS_SETUP}
nclust_current=$(currentRelease)
if [ -f "$nclust_root/.history" ]; then
  sed -n '1!G;h;$p' "$nclust_root/.history" | while read -r nclust_name; do
    nclust_sign=' '
    if [ "$nclust_name" = "$nclust_current" ]; then nclust_sign='*'; fi
    nclust_commit=$(${COMMIT_SHOWN} 2>/dev/null) || nclust_commit='its folder was removed'
    printf '%s %s  %s\\n' "$nclust_sign" "$nclust_name" "$nclust_commit"
  done
fi
`;
}

/**
 * @param {Deployment} deployment
 * @param {string} command
 */
export function execScript(deployment, command) {
  return `${prelude(deployment)}
${NEEDS_SETUP}
cd "$nclust_root/current"
say step command
exec sh -c ${shellQuote(command)}
`;
}

/** @param {Deployment} deployment */
export function preSetupScript(deployment) {
  return `${prelude(deployment)}
${hook(deployment, 'pre-setup', null)}
`;
}

/** @param {Deployment} deployment */
export function isSetUpScript(deployment) {
  return `${prelude(deployment)}
say previous "$(currentRelease)"
`;
}
