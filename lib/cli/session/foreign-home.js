import { statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { resolveHome } from '../../shared/paths.js';

/**
 * With `sudo -E`, a sudo that keeps HOME (macOS), and `su -p`, HOME is still that of another user.
 * Then the home of nclust is that user's, too, which is hardly what was meant.
 * @param {Record<string, string | undefined>} env
 * @returns {string | null}  One sentence or more; null when there is nothing to say.
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
    return null; // It is missing or cannot be reached: to use the home fails, and says so.
  }
}

function account() {
  try {
    return userInfo();
  } catch {
    return null; // Without an account, as in a container, HOME is what the image says.
  }
}
