import { accessSync, chmodSync, constants, lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { findHomeFault } from '../shared/daemon/home-folders.js';
import { NclustError } from '../shared/errors.js';
import { homePaths } from '../shared/paths.js';

/** @import { Stats } from 'node:fs' */

/**
 * Creates a missing home. Throws ERR_NCLUST_HOME_TOO_LONG, _NOT_DIRECTORY, _FOREIGN, _OPEN,
 * _EXPOSED and _UNWRITABLE.
 * @param {string} home  Absolute.
 * @param {object} [o]
 * @param {number} [o.uid]  Default: the effective user.
 */
export function checkHome(home, { uid = process.geteuid?.() ?? 0 } = {}) {
  checkLength(home);
  const stat = statIfThere(home);
  if (stat) checkOwn(home, stat, uid);
  const fault = findHomeFault(home, { uid });
  // Checks the path before it changes the home, because another user could make an unsafe path lead
  // to any of our folders. closeToOthers() handles a fault of the home itself.
  if (fault && !(stat && isAt(fault.data.folder, stat)))
    throw new NclustError('ERR_NCLUST_HOME_EXPOSED', fault.message, fault);
  if (stat) closeToOthers(home, stat.mode);
  else create(home);
  checkWritable(home);
}

/**
 * @param {string} folder
 * @param {Stats} stat
 */
function isAt(folder, { dev, ino }) {
  const found = lstatSync(folder);
  return found.dev === dev && found.ino === ino;
}

/**
 * @param {string} home
 * @param {Stats} stat
 * @param {number} uid
 */
function checkOwn(home, stat, uid) {
  if (!stat.isDirectory()) {
    throw new NclustError('ERR_NCLUST_HOME_NOT_DIRECTORY', `The nclust home "${home}" is not a directory.`, {
      hint: 'Move that file away or point NCLUST_HOME elsewhere.',
    });
  }
  if (stat.uid !== uid) {
    throw new NclustError(
      'ERR_NCLUST_HOME_FOREIGN',
      `The nclust home "${home}" belongs to user id ${stat.uid}, but this command runs as user id ${uid}.`,
      { hint: 'Run the command as its owner, or point NCLUST_HOME at a folder of your own.' },
    );
  }
}

/** @param {string} home */
function checkLength(home) {
  const longest = join(homePaths(home).run, 'keeper.NNNNNN.sock');
  const bytes = Buffer.byteLength(longest);
  const allowed = socketPathMaxBytes(process.platform);
  if (bytes <= allowed) return;
  throw new NclustError(
    'ERR_NCLUST_HOME_TOO_LONG',
    `The nclust home "${home}" is ${bytes - allowed} bytes too long for the sockets in it.`,
    { hint: 'Point NCLUST_HOME at a shorter path.', data: { bytes, allowed } },
  );
}

/**
 * A path in sockaddr_un has 108 bytes on Linux, and 104 bytes on macOS and the BSDs. The last byte
 * is zero.
 * @param {string} platform
 */
function socketPathMaxBytes(platform) {
  return platform === 'linux' ? 107 : 103;
}

/** @param {string} home */
function statIfThere(home) {
  try {
    return statSync(home);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw unwritable(home, error);
    return null;
  }
}

/** @param {string} home */
function create(home) {
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw unwritable(home, error);
  }
}

const STATE = /state\.json|state\.reserve|pids|dump\.json|settings\.json|web\.token|web-open\.html/;
const OTHERS = /events\.log|nclust(__\S+)?\.log|nclust\.sock|run|logs|notify|launcher\.sh/;
const ASIDE = /(\.\S+)?/;

/** The files of a home, including temporary files and files that were set aside. */
const OURS = new RegExp(`^(${STATE.source}|${OTHERS.source})${ASIDE.source}$`);

/**
 * Closes a home to other users if it contains only our files. Throws ERR_NCLUST_HOME_OPEN if it
 * contains other files, because the folder may be /tmp or a project.
 * @param {string} home
 * @param {number} mode
 */
function closeToOthers(home, mode) {
  if ((mode & 0o077) === 0) return;
  // Every entry must be ours, because / and /var have a `run` too.
  if (readdirSync(home).every((entry) => OURS.test(entry))) return chmodSync(home, 0o700);
  throw new NclustError(
    'ERR_NCLUST_HOME_OPEN',
    `Other users can enter the nclust home "${home}", and it contains files that are not from nclust.`,
    {
      hint: `Point NCLUST_HOME at a folder of its own, for example "${join(home, '.nclust')}".`,
    },
  );
}

/** @param {string} home */
function checkWritable(home) {
  try {
    accessSync(home, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unwritable(home, error);
  }
}

/**
 * @param {string} home
 * @param {unknown} error
 */
function unwritable(home, error) {
  const code = /** @type {NodeJS.ErrnoException} */ (error).code ?? String(error);
  return new NclustError(
    'ERR_NCLUST_HOME_UNWRITABLE',
    `The nclust home "${home}" cannot be created or written to (${code}).`,
    { hint: 'Fix its permissions or point NCLUST_HOME at a folder you can write to.', cause: error },
  );
}
