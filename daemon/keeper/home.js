// Looks after what the keeper has in the home, because other programs delete old files, as
// systemd-tmpfiles does in /tmp. Control looks after its own files (daemon/control/home.js).
import { lstatSync, lutimesSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { namesIn } from '../../lib/shared/daemon/files.js';
import { describeError, log } from './host/log.js';

/** @import { HomeClaim } from './lock.js' */

const LOOK_MS = 3_000;
/** The apps end if the folder of the home is missing at this number of looks in a row. */
const GONE_LOOKS = 3;
/** Folders of the home with files that may be old but in use. */
const TOUCHED = ['.', 'run', 'pids', 'logs', 'logs/.times'];
/** Once an hour. Cleaners delete files that no program has used for days. */
const TOUCH_LOOKS = 1_200;

/**
 * @param {object} o
 * @param {string} o.run
 * @param {Pick<HomeClaim, 'isHeld' | 'restore'>} o.claim
 * @param {() => void} o.onLost  The home was removed, or another keeper has it.
 * @returns {() => Promise<void>}  Looks at once.
 */
export function watchHome({ run, claim, onLost }) {
  const home = dirname(run);
  let looks = 0;
  let missing = 0;
  let isRestoring = false;

  const lose = (/** @type {string} */ event) => {
    clearInterval(timer);
    log(event, {});
    onLost();
  };

  const restore = async () => {
    if (isRestoring) return;
    isRestoring = true;
    try {
      if (claim.isHeld()) return;
      if (await claim.restore()) log('lock-restored', {});
      else lose('home-held-by-another-keeper');
    } catch (error) {
      log('lock-not-restored', describeError(error)); // The next look tries again.
    } finally {
      isRestoring = false;
    }
  };

  const look = () => {
    looks += 1;
    missing = isThere(home) ? 0 : missing + 1;
    if (missing === GONE_LOOKS) return lose('home-removed');
    if (missing > 0) return undefined;
    if (looks % TOUCH_LOOKS === 0) for (const folder of TOUCHED) touch(join(home, folder));
    return restore();
  };

  const timer = setInterval(() => void look(), LOOK_MS).unref();
  return restore;
}

/** @param {string} folder */
function isThere(folder) {
  try {
    return statSync(folder, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true; // For example, the server of a network disk does not answer.
  }
}

/**
 * Sets the time of the last access of each file, so that the files do not look old.
 * @param {string} folder
 */
function touch(folder) {
  const now = new Date();
  for (const name of namesIn(folder)) {
    try {
      const path = join(folder, name);
      lutimesSync(path, now, lstatSync(path).mtime);
    } catch {
      // The file was removed, or belongs to another user, as a pipe of an app with `uid` does.
    }
  }
}
