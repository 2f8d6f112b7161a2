import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { readSettings } from './settings.js';

/** Opening what somebody put there, a FIFO say, must not wait for anybody. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * @param {string} file
 * @param {(key: string, value: unknown) => boolean} [isPossible]  Where this machine cannot do everything.
 * @returns {import('./settings.js').ReadSettings}  Never throws: what cannot be read is broken.
 */
export function readSettingsFile(file, isPossible) {
  try {
    return readSettings(readSettingsText(file), isPossible);
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    return { ...readSettings(null), broken: `it cannot be read (${code ?? message})` };
  }
}

/**
 * Throws what the file system says.
 * @param {string} file
 * @returns {string|null}  Null when there is none.
 */
export function readSettingsText(file) {
  const fd = open(file);
  if (fd === null) return null;
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() && !stat.isDirectory()) throw new Error('it is no file');
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

/** @param {string} file */
function open(file) {
  try {
    return openSync(file, FLAGS);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return null;
    throw error;
  }
}
