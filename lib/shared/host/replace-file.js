import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { assertPlain } from './as-user.js';
import { followLinks } from './follow-links.js';

/**
 * Replaces the file atomically. The new file has mode 0600. A link stays, and its target is
 * replaced.
 * @param {string} link
 * @param {string} text
 */
export function replaceFile(link, text) {
  const file = findReplaceable(link);
  const temp = `${file}.new`;
  try {
    writeNew(temp, text);
    renameSync(temp, file);
  } catch (error) {
    rmSync(temp, { force: true });
    throw error;
  }
}

/**
 * @param {string} path
 * @returns {string}  The file that the path leads to. Throws EINVAL if it is a device, for example.
 */
export function findReplaceable(path) {
  const file = followLinks(null, path);
  assertPlain(file);
  return file;
}

/**
 * If `file` is a link, replaces the link and does not write to its target. If this throws, an
 * incomplete file may remain.
 * @param {string} file
 * @param {string | Buffer} content
 */
export function writeNew(file, content) {
  rmSync(file, { force: true });
  const fd = openSync(file, 'wx', 0o600);
  try {
    writeFileSync(fd, content);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
