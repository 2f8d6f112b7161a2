import { statSync } from 'node:fs';
import { NclustError } from '../../shared/errors.js';

/**
 * @param {string} folder  Absolute.
 * @returns {string}  The same. Throws ERR_NCLUST_CWD_NOT_FOUND.
 */
export function checkFolder(folder) {
  try {
    if (statSync(folder).isDirectory()) return folder;
  } catch {
    // Told below, like a file in its place.
  }
  throw new NclustError('ERR_NCLUST_CWD_NOT_FOUND', `The working directory "${folder}" does not exist or is not a directory.`, { hint: 'Create it, or give another --cwd.' });
}
