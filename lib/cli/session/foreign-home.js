import { statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { resolveHome } from '../../shared/paths.js';

/**
 * Warns if HOME belongs to another user: with `sudo -E`, a sudo that keeps HOME (macOS), and `su
 * -p`. Then nclust's home is that user's, too, which is probably not intended.
 * @param {Record<string, string | undefined>} env
 * @returns {string | null}  One sentence or more; null if there is no problem.
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
    `"${resolveHome(env)}" and not "${resolveHome({ HOME: own.homedir })}". For your own use "sudo -H" or "su -"; ` +
    `for the other one run nclust as its user, or set NCLUST_HOME.`
  );
}

/** @param {string} folder */
function ownerOf(folder) {
  try {
    return statSync(folder).uid;
  } catch {
    return null; // It is missing or cannot be reached: using it will fail with a message.
  }
}

function account() {
  try {
    return userInfo();
  } catch {
    return null; // In a container the user may have no account, and the image sets HOME.
  }
}
