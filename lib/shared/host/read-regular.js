import * as fs from 'node:fs';
import { promisify } from 'node:util';
import { openAsUser } from './as-user.js';

/** @import { User } from './user-path.js' */

const [open, fstat, close] = [promisify(fs.open), promisify(fs.fstat), promisify(fs.close)];
const read = promisify(fs.read);

/** Without O_NONBLOCK, open(2) waits for the other end of a named pipe. */
const FLAGS = fs.constants.O_RDONLY | fs.constants.O_NONBLOCK;

/** `message` completes a sentence that begins with the path of the file. */
export class Unfit extends Error {
  isTooLong = false;
}

const FIRST_BYTES = 4_096;

/**
 * Reads a file that other programs may change. If `user` is given, blocks the thread while it opens
 * the file with the rights of this user.
 * @param {string} file
 * @param {number} maxBytes
 * @param {User | null} [user]  Null: the rights of this process.
 * @returns {Promise<Buffer>}  Rejects with Unfit, or with errors of the system.
 */
export async function readRegular(file, maxBytes, user = null) {
  const fd = user ? openRegular(user, file) : await open(file, FLAGS);
  try {
    const stat = await fstat(fd);
    if (!stat.isFile()) throw new Unfit('is not a regular file');
    if (stat.size > maxBytes) throw tooLong(maxBytes);
    let bytes = Buffer.alloc(Math.min(maxBytes, stat.size || FIRST_BYTES) + 1);
    let length = 0;
    for (let got = -1; got !== 0; length += got) {
      if (length > maxBytes) throw tooLong(maxBytes);
      if (length === bytes.length) bytes = Buffer.concat([bytes], Math.min(maxBytes + 1, 2 * length));
      got = (await read(fd, bytes, length, bytes.length - length, null)).bytesRead;
    }
    return bytes.subarray(0, length);
  } finally {
    await close(fd);
  }
}

/**
 * @param {User} user
 * @param {string} file
 */
function openRegular(user, file) {
  try {
    return openAsUser(user, file, FLAGS);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EINVAL') throw new Unfit('is not a regular file');
    throw error;
  }
}

/** @param {number} maxBytes */
function tooLong(maxBytes) {
  return Object.assign(new Unfit(`has more than ${maxBytes / 1024} KiB`), { isTooLong: true });
}
