import { withDeadline } from '../../../lib/shared/deadline.js';
import { readRegular, Unfit } from '../../../lib/shared/host/read-regular.js';

/** @import { User } from '../../../lib/shared/host/user-path.js' */
/** @import { Clock } from './clock.js' */

/** Time limit for a read, because a disk may hang. */
const READ_MS = 5_000;

/**
 * Hints by error code, for a file that is read with the rights of an app's user.
 * @type {Record<string, string>}
 */
const HINTS = {
  EACCES:
    'The user of the app could exchange this file, so it is read as that user. Let that user read it, or move it ' +
    'to a folder that only root can change.',
  ENOTSUP:
    'The user of the app could exchange this file while it is opened, which this system cannot prevent. Move it ' +
    'to a folder that only root can change.',
};

/**
 * Reads a file that other users may change. Never rejects. Does not block the main
 * thread, except to open the file as `user`.
 * @param {string} file
 * @param {{ maxBytes: number, clock: Clock, user: User | null }} o
 * @returns {Promise<
 *   { bytes: Buffer, fault: null } | { bytes: null, fault: string, hint: string | null }
 * >}  `fault` continues a sentence that begins with the path.
 */
export async function readWhole(file, { maxBytes, clock, user }) {
  const onLate = () => {
    throw new Unfit(`could not be read in ${READ_MS / 1000}s`);
  };
  try {
    return { bytes: await withDeadline(READ_MS, readRegular(file, maxBytes, user), onLate, clock.after), fault: null };
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    if (error instanceof Unfit) return { bytes: null, fault: message, hint: null };
    const hint = user ? (HINTS[code ?? ''] ?? null) : null;
    const reader = hint && user ? ` as user ${user.uid}` : '';
    return { bytes: null, fault: `could not be read${reader} (${code ?? message})`, hint };
  }
}
