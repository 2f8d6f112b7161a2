import { readRegular, Unfit } from '../../../lib/shared/host/read-regular.js';

/** @import { Clock } from './clock.js' */

/** On a disk that hangs, in ms. */
const READ_MS = 5_000;

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
    return {
      bytes: await Promise.race([/** @type {Promise<never>} */ (late), readRegular(file, maxBytes)]),
      fault: null,
    };
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    return { bytes: null, fault: error instanceof Unfit ? message : `could not be read (${code ?? message})` };
  } finally {
    cancel();
  }
}
