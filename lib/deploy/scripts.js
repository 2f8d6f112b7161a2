import { shellQuote } from '../shared/shell-quote.js';
import { keepLock, lockWithin } from './lock.js';
import { activation, FETCH, findCurrent, hook, NEEDS_SETUP, prelude, shareLine } from './script-parts.js';

/** @import { Lock } from './lock.js' */
/** @import { Deployment, HookName } from './settings.js' */

// What runs on a host: POSIX sh, git and the usual tools, nothing of nclust. Under the path of a
// deployment:
//
//   repo.git     all that was fetched
//   releases/    <time>-<commit>, each a working tree of its own
//   shared/      what outlives a release
//   current      -> releases/..., replaced by rename(2)
//   source       -> current, the name of PM2
//   .history     what was current, the oldest first, one a line
//   .lock        who changes all this at the moment, see lock.js
//
// What say() says is for the one who deploys: see remote.js, which also sets $mark.

const CHECKOUT_OPTIONS = '-c core.hooksPath=/dev/null -c advice.detachedHead=false';
const COMMIT_SHOWN = `git -C "$root/releases/$name" log -1 --format='%s (%an, %cd)' --date=short`;

/** @param {Deployment} deployment */
export function fetchScript(deployment) {
  return `${prelude(deployment)}
say step setup
mkdir -p "$root/releases" "$root/shared/logs" "$root/shared/pids"
${FETCH}
`;
}

/**
 * Finds the commit a ref stands for: that of the branch as it was just fetched, before a tag.
 * @param {Deployment} deployment
 * @param {string} ref
 */
export function resolveScript(deployment, ref) {
  return `${prelude(deployment)}
ref=${shellQuote(ref)}
${NEEDS_SETUP}
${FETCH}
for one in "refs/remotes/origin/$ref" "refs/tags/$ref" "$ref"; do
  commit=$(git -C "$root/repo.git" rev-parse --verify --quiet "$one^{commit}") && break
done
if [ -z "$commit" ]; then
  echo "There is no \\"$ref\\" in $repo." >&2
  exit 1
fi
say commit "$commit"
`;
}

/**
 * Makes a release that nobody sees yet.
 * @param {Deployment} deployment
 * @param {object} o
 * @param {string} o.commit
 * @param {string} o.time  As in the name of the release.
 * @param {boolean} o.hasHook  Whether pre-deploy is run.
 */
export function stageScript(deployment, { commit, time, hasHook }) {
  return `${prelude(deployment)}
commit=${shellQuote(commit)}
${NEEDS_SETUP}
say previous "$(currentRelease)"
${FETCH}
say step checkout
base=${shellQuote(`${time}-${commit.slice(0, 7)}`)}
name=$base
n=1
while [ -e "$root/releases/$name" ]; do n=$((n + 1)); name="$base-$n"; done
release="$root/releases/$name"
git -C "$root/repo.git" worktree prune
git -C "$root/repo.git" ${CHECKOUT_OPTIONS} worktree add --quiet --detach "$release" "$commit"
if [ -f "$release/.gitmodules" ]; then git -C "$release" submodule --quiet update --init --recursive; fi
${deployment.shared.map(shareLine).join('\n')}
say release "$name"
${hasHook ? hook(deployment, 'pre-deploy', '$release') : ''}
`;
}

/**
 * Makes a release the current one and runs a hook in it; when that fails, the one before is the
 * current one again.
 * @param {Deployment} deployment
 * @param {object} o
 * @param {string} o.release
 * @param {HookName} o.hookName
 * @param {Lock} o.lock  Held; it is given back at the end.
 */
export function activateScript(deployment, { release, hookName, lock }) {
  return `${prelude(deployment)}
name=${shellQuote(release)}
${keepLock(lock)}
${activation(deployment, hookName)}
{ cat "$root/.history" 2>/dev/null || :; echo "$name"; } | tail -n ${deployment.releases} > "$root/.history.new"
mv -f "$root/.history.new" "$root/.history"
# Whatever is not in the list: no other deployment is on its way, because this one has the lock.
for one in "$root"/releases/*; do
  one=\${one##*/}
  if ! grep -qxF -- "$one" "$root/.history"; then rm -rf "$root/releases/$one"; fi
done
git -C "$root/repo.git" worktree prune
say active "$name"
`;
}

/**
 * @param {Deployment} deployment
 * @param {number} back
 * @param {Lock} lock  Not held yet.
 */
export function revertScript(deployment, back, lock) {
  return `${prelude(deployment)}
${NEEDS_SETUP}
${lockWithin(lock)}
${findCurrent()}
target=$((at - ${back}))
if [ "$target" -lt 1 ]; then
  echo "There are $((at - 1)) releases before $(currentRelease), and ${back} were asked for." >&2
  exit 1
fi
name=$(sed -n "\${target}p" "$root/.history")
if [ ! -d "$root/releases/$name" ]; then
  echo "$root/releases/$name is not there any more." >&2
  exit 1
fi
say release "$name"
say previous "$(currentRelease)"
${activation(deployment, 'post-deploy')}
head -n "$target" "$root/.history" > "$root/.history.new"
mv -f "$root/.history.new" "$root/.history"
say active "$name"
`;
}

/**
 * @param {Deployment} deployment
 * @param {number} back  0: the current one.
 */
export function showScript(deployment, back) {
  return `${prelude(deployment)}
${NEEDS_SETUP}
${findCurrent()}
target=$((at - ${back}))
if [ "$target" -lt 1 ]; then
  echo "There is no release before $(currentRelease)." >&2
  exit 1
fi
name=$(sed -n "\${target}p" "$root/.history")
echo "$(git -C "$root/releases/$name" rev-parse HEAD) $name"
`;
}

/** @param {Deployment} deployment */
export function listScript(deployment) {
  return `${prelude(deployment)}
${NEEDS_SETUP}
current=$(currentRelease)
if [ -f "$root/.history" ]; then
  sed -n '1!G;h;$p' "$root/.history" | while read -r name; do
    sign=' '
    if [ "$name" = "$current" ]; then sign='*'; fi
    printf '%s %s  %s\\n' "$sign" "$name" "$(${COMMIT_SHOWN} 2>/dev/null || echo 'its folder was removed')"
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
cd "$root/current"
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
