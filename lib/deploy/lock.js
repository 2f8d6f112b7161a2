import { shellQuote } from '../shared/shell-quote.js';
import { NEEDS_SETUP, prelude } from './script-parts.js';

/** @import { Deployment } from './deployment.js' */

/**
 * The lock of a host is the symbolic link .lock in the folder of the deployment. The target of the
 * link is a text, not a path. A link is a good lock, because ln creates it in one system call and
 * fails if the link exists.
 *
 *     .lock -> <token> <who> since <time>
 *                        the deploying command holds the lock over several connections, then
 *                        removes the lock
 *                    active-<token> <who> since <time>
 *                        the host holds the lock during the switch, then removes the lock
 *
 * @typedef {object} Lock
 * @property {string} token
 * @property {string} owner  For messages.
 */

/**
 * @param {Deployment} deployment
 * @param {Lock} lock
 * @param {{ isFirst: boolean }} o  isFirst: perhaps the host is not set up yet.
 */
export function lockScript(deployment, lock, { isFirst }) {
  return `${prelude(deployment)}
${isFirst ? 'mkdir -p "$nclust_root"' : NEEDS_SETUP}
${taking(lock.token, lock.owner)}
`;
}

/**
 * @param {Deployment} deployment
 * @param {Lock | null} lock  Null: removes the lock of any owner.
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
 * Locks the host for one script. The script removes the lock when it exits.
 * @param {Lock} lock
 */
export function lockWithin({ token, owner }) {
  return `${taking(`active-${token}`, owner)}
${givingBack(token)}
trap 'exit 1' HUP PIPE INT TERM`;
}

/**
 * Replaces the lock of the deploying command with a lock that the host removes, because the switch
 * continues even if the connection breaks.
 * @param {Lock} lock
 */
export function keepLock({ token, owner }) {
  return `case $(readlink "$nclust_root/.lock") in
${shellQuote(token)}\\ *) ;;
*) echo "Another command removed the lock of this deployment." >&2; exit 1 ;;
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
