import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Writes atomically. Mode 0600. Throws errors of the file system.
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
 * Writes a new file to the disk, in place of an old one, and never through a link. Mode 0600 from
 * the start. Throws errors of the file system, and may then have left a part of the file.
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
