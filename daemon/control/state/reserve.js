import { rmSync, statSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';

const LEAST_BYTES = 64 * 1024;

/**
 * Writes a small file that has to be written even when the disk is full: room that was taken in better days is given up for it, and taken again
 * as soon as it can be. Without it nobody could stop the app that fills the disk.
 * @param {string} reserve  The file that holds the room.
 * @param {string} file  What `write` writes: the room is for two of its kind.
 * @param {() => void} write  Throws what the file system says, and has then left nothing behind. Called a second time when the room was given up.
 * Throws what the last call of `write` throws.
 */
export function writeInNeed(reserve, file, write) {
  try {
    write();
  } catch (error) {
    if (!isFull(error) || !giveUp(reserve)) throw error;
    write();
  }
  hold(reserve, Math.max(LEAST_BYTES, 2 * statSync(file).size));
}

/** @param {unknown} error */
function isFull(error) {
  const { code = '' } = /** @type {NodeJS.ErrnoException} */ (error);
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/**
 * @param {string} reserve
 * @returns {boolean}  Whether there was any.
 */
function giveUp(reserve) {
  if (!statSync(reserve, { throwIfNoEntry: false })) return false;
  rmSync(reserve);
  return true;
}

/**
 * @param {string} reserve
 * @param {number} bytes
 */
function hold(reserve, bytes) {
  if ((statSync(reserve, { throwIfNoEntry: false })?.size ?? 0) >= bytes) return;
  try {
    // Noise: a file system that compresses would keep no room for zeros.
    writeFileSync(reserve, randomBytes(bytes), { mode: 0o600 });
  } catch {
    // No room for it now. What was to be written is written, and the next change tries again.
    rmSync(reserve, { force: true });
  }
}
