import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Atomically. Mode 0600. Throws what the file system says.
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
 * Writes a new file to the disk, in the place of what is there, and never through a link that is
 * there. Mode 0600 from its first instant. Throws what the file system says, and may then have left
 * a part of the file.
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
