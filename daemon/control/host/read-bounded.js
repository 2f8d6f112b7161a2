import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** @import { Clock } from './clock.js' */

/** On a disk that hangs, in ms. */
const READ_MS = 5_000;

/** The file is not as it should be. */
class Unfit extends Error {}

/**
 * Reads a file that somebody else looks after, off the thread of control.
 * @param {string} file
 * @param {{ maxBytes: number, clock: Clock }} o
 * @returns {Promise<{ bytes: Buffer, fault: null } | { bytes: null, fault: string }>}  The fault in
 *   words that follow the path. Never rejects.
 */
export async function readWhole(file, { maxBytes, clock }) {
  /** @type {() => void} */
  let cancel = () => {};
  const late = new Promise((_, reject) => {
    cancel = clock.after(READ_MS, () => reject(new Unfit(`could not be read in ${READ_MS / 1000}s`)));
  });
  try {
    return { bytes: await Promise.race([/** @type {Promise<never>} */ (late), read(file, maxBytes)]), fault: null };
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    return { bytes: null, fault: error instanceof Unfit ? message : `could not be read (${code ?? message})` };
  } finally {
    cancel();
  }
}

/**
 * @param {string} file
 * @param {number} maxBytes
 */
async function read(file, maxBytes) {
  // A named pipe that nobody writes to would be waited for.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await handle.stat()).isFile()) throw new Unfit('is no file');
    // It says nothing of a file of /proc how big it is.
    const bytes = Buffer.alloc(maxBytes + 1);
    let length = 0;
    for (let got = -1; got !== 0 && length <= maxBytes; length += got)
      got = (await handle.read(bytes, length, bytes.length - length)).bytesRead;
    if (length > maxBytes) throw new Unfit(`has more than ${maxBytes / 1024} KiB`);
    return Buffer.from(bytes.subarray(0, length));
  } finally {
    await handle.close();
  }
}
