import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkHome } from '../client/check-home.js';
import { findKeeper } from '../client/keeper-socket.js';
import { countSavedApps } from '../client/not-running.js';
import { NclustError } from '../shared/errors.js';
import { homePaths, resolveHome } from '../shared/paths.js';
import { outputSocket } from '../shared/wire/output-frame.js';

/** Time limit for a manager of the home to answer at the keeper socket, in ms. */
const CONNECT_TIMEOUT_MS = 2_000;

/**
 * @typedef {object} ForegroundHome
 * @property {string} home
 * @property {() => void} leave
 */

/**
 * Takes $NCLUST_HOME if it is usable, else a new folder. Rejects with ERR_NCLUST_HOME_UNWRITABLE if
 * a new folder is not possible anywhere.
 * @param {Record<string, string | undefined>} env
 * @param {(sentence: string) => void} printMessage
 * @returns {Promise<ForegroundHome>}
 */
export async function claimHome(env, printMessage) {
  if (env.NCLUST_HOME) {
    const home = resolveHome(env);
    const why = await reasonAgainst(home);
    if (why === null) return { home, leave: () => rmSync(outputSocket(homePaths(home).run), { force: true }) };
    printMessage(`NCLUST_HOME ("${home}") is not used, because ${why}; this run uses a temporary home.`);
  }
  const home = makeHome([env.XDG_RUNTIME_DIR, '/dev/shm', env.TMPDIR, tmpdir(), '/tmp']);
  return { home, leave: () => rmSync(home, { recursive: true, force: true }) };
}

/**
 * @param {string} home
 * @returns {Promise<string | null>}  Why the home is not usable. Null: the home is usable.
 */
async function reasonAgainst(home) {
  try {
    checkHome(home);
  } catch (error) {
    return lowerFirst(/** @type {Error} */ (error).message.replace(/\.$/, ''));
  }
  const paths = homePaths(home);
  const keeper = await findKeeper(paths.run, AbortSignal.timeout(CONNECT_TIMEOUT_MS));
  if (keeper && keeper !== 'busy') keeper.destroy();
  if (keeper) return 'a manager runs there';
  if (countSavedApps(home) === 0) return null;
  if (!existsSync(outputSocket(paths.run))) return 'it contains a list of apps that another command started';
  // Removes the list of a killed foreground run, because this run must not start the apps of that
  // list.
  for (const file of [paths.state, paths.stateBackup]) rmSync(file, { force: true });
  return null;
}

/** @param {(string | undefined)[]} folders */
function makeHome(folders) {
  for (const folder of new Set(folders)) {
    if (!folder) continue;
    try {
      const home = mkdtempSync(join(folder, 'nclust-'));
      checkHome(home);
      return home;
    } catch {
      // Tries the next folder, because this folder is missing, read-only or unsafe, or because its
      // path is too long for a socket.
    }
  }
  throw new NclustError(
    'ERR_NCLUST_HOME_UNWRITABLE',
    'No folder is writable: XDG_RUNTIME_DIR, /dev/shm and /tmp are missing or read-only.',
    { hint: 'Give the container a small tmpfs (docker run --tmpfs /tmp), or set NCLUST_HOME to a writable folder.' },
  );
}

/** @param {string} text */
function lowerFirst(text) {
  return text[0].toLowerCase() + text.slice(1);
}
