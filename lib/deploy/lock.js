import { shellQuote } from '../shared/shell-quote.js';
import { NEEDS_SETUP, prelude } from './script-parts.js';

/** @import { Deployment } from './settings.js' */

/**
 * The lock of a host's releases: .lock in the folder of the deployment. It is a link without a
 * target whose text contains the owner, because a link is made in one call, and only if there is
 * none.
 *
 *     .lock -> <token> <who> since <time>
 *                        from the first access to the host, held over several connections
 *                    active-<token> <who> since <time>
 *                        during the switch, which the host finishes alone and then removes it
 * @typedef {object} Lock
 * @property {string} token
 * @property {string} owner  For people.
 */

/**
 * @param {Deployment} deployment
 * @param {Lock} lock
 * @param {{ isFirst: boolean }} o  The host need not be set up.
 */
export function lockScript(deployment, lock, { isFirst }) {
  return `${prelude(deployment)}
${isFirst ? 'mkdir -p "$nclust_root"' : NEEDS_SETUP}
${taking(lock.token, lock.owner)}
`;
}

/**
 * @param {Deployment} deployment
 * @param {Lock | null} lock  Null: any owner's.
 */
export function unlockScript(deployment, lock) {
  return `${prelude(deployment)}
nclust_owner=$(readlink "$nclust_root/.lock") || nclust_owner=
case $nclust_owner in
${lock ? `${shellQuote(lock.token)}\\ *` : '?*'}) rm -f "$nclust_root/.lock"; say unlocked "\${nclust_owner#* }" ;;
esac
`;
}

/**
 * @param {string} token
 * @param {string} owner
 */
function taking(token, owner) {
  return `say step lock
if ! nclust_why=$(ln -s ${shellQuote(`${token} ${owner}`)} "$nclust_root/.lock" 2>&1); then
  nclust_owner=$(readlink "$nclust_root/.lock") || nclust_owner=
  if [ -n "$nclust_owner" ]; then say locked "\${nclust_owner#* }"; else printf '%s\\n' "$nclust_why" >&2; fi
  exit 1
fi
say held yes`;
}

/**
 * Locks for one script, which unlocks at its end.
 * @param {Lock} lock
 */
export function lockWithin({ token, owner }) {
  return `${taking(`active-${token}`, owner)}
${givingBack(token)}
trap 'exit 1' HUP PIPE INT TERM`;
}

/**
 * Changes a lock of the deploying user into one that the host itself removes, because the switch
 * outlives the connection.
 * @param {Lock} lock
 */
export function keepLock({ token, owner }) {
  return `case $(readlink "$nclust_root/.lock") in
${shellQuote(token)}\\ *) ;;
*) echo "The lock of this deployment was removed by somebody else." >&2; exit 1 ;;
esac
switch ${shellQuote(`active-${token} ${owner}`)} .lock
${givingBack(token)}`;
}

/** @param {string} token */
function givingBack(token) {
  const ours = shellQuote(`active-${token}`);
  return `giveBack() { case $(readlink "$nclust_root/.lock") in ${ours}\\ *) rm -f "$nclust_root/.lock" ;; esac; }
trap giveBack EXIT`;
}
