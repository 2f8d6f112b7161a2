import { closeSync, constants, fstatSync, readFileSync } from 'node:fs';
import { tryTo } from '../shared/daemon/files.js';
import { openAsUser } from '../shared/host/as-user.js';

/** @import { User } from '../shared/host/user-path.js' */

/** Larger than any real package.json. */
const PACKAGE_MAX_BYTES = 1024 * 1024;

/**
 * @param {string} file
 * @param {User | null} user
 * @returns {Record<string, unknown>}  Empty: the file is missing or invalid. npm reports that.
 */
export function readPackage(file, user) {
  return tryTo(() => Object(JSON.parse(toText(file, user))), {});
}

/**
 * @param {string} file
 * @param {User | null} user
 */
function toText(file, user) {
  // Without O_NONBLOCK, open(2) waits for a writer of a named pipe.
  const fd = openAsUser(user, file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(fd);
    return found.isFile() && found.size <= PACKAGE_MAX_BYTES ? readFileSync(fd, 'utf8') : '';
  } finally {
    closeSync(fd);
  }
}
