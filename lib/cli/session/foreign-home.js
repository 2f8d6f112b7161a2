import { statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { resolveHome } from '../../shared/paths.js';

/**
 * Returns a warning if nclust would use the HOME of another user, otherwise null. HOME belongs to
 * another user after `sudo -E`, `su -p`, or a sudo that keeps HOME (macOS).
 * @param {Record<string, string | undefined>} env
 */
export function warnOfForeignHome(env) {
  const { HOME, NCLUST_HOME } = env;
  if (NCLUST_HOME || !HOME) return null;
  const own = account();
  if (own === null || own.homedir === HOME) return null;
  const owner = ownerOf(HOME);
  if (owner === null || owner === own.uid || owner === 0) return null;
  const who = own.uid === 0 ? 'root' : `user ${own.uid}`;
  return (
    `HOME is "${HOME}", which belongs to user ${owner}, and this is ${who}. So nclust uses the home ` +
    `"${resolveHome(env)}" and not "${resolveHome({ HOME: own.homedir })}". To use your own: "sudo -H" or "su -". ` +
    `To use the other one: run nclust as user ${owner}, or set NCLUST_HOME.`
  );
}

/** @param {string} folder */
function ownerOf(folder) {
  try {
    return statSync(folder).uid;
  } catch {
    return null; // The first access to the folder will report the error.
  }
}

function account() {
  try {
    return userInfo();
  } catch {
    return null; // In a container the user may have no account.
  }
}
