import { shellQuote } from '../shared/shell-quote.js';
import { NEEDS_SETUP, prelude } from './script-parts.js';

/** @import { Deployment } from './settings.js' */

/**
 * The lock of a host is .lock in the folder of the deployment. It is a symbolic link whose target
 * is text, because ln creates a link in one call and fails if it exists.
 *
 *     .lock -> <token> <who> since <time>
 *                        held over several connections; the deploying command removes it
 *                    active-<token> <who> since <time>
 *                        during the switch, which the host completes alone; the host removes it
 *
 * @typedef {object} Lock
 * @property {string} token
 * @property {string} owner  For messages.
 */

/**
 * @param {Deployment} deployment
 * @param {Lock} lock
 * @param {{ isFirst: boolean }} o  isFirst: the host may not be set up.
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
 * Locks the host for one script, which removes the lock when it exits.
 * @param {Lock} lock
 */
export function lockWithin({ token, owner }) {
  return `${taking(`active-${token}`, owner)}
${givingBack(token)}
trap 'exit 1' HUP PIPE INT TERM`;
}

/**
 * Replaces the lock of the deploying command by one that the host itself removes, because the
 * switch outlives the connection.
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
