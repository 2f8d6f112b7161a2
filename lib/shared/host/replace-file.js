import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Writes atomically, with mode 0600.
 * @param {string} file
 * @param {string} text
 */
export function replaceFile(file, text) {
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
 * Never writes through a link. May leave a part of the file if it throws.
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
