import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Replaces the file atomically. The new file has mode 0600.
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
