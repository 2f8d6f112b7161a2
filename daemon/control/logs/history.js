import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

const BLOCK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** What is looked at, from the end: a file without line ends must not fill the memory. */
const LOOK_MAX_BYTES = 8 * 1024 * 1024;

/** Not blocking: where somebody has put a pipe, open(2) would wait for a writer and all of control with it. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * The last lines of a file, read from its end.
 * @param {string} path
 * @param {number} count
 * @returns {string[]}  Oldest first. Empty when there is no such file.
 */
export function lastLinesOf(path, count) {
  if (count <= 0 || path === '') return [];
  let fd;
  try {
    fd = openSync(path, FLAGS);
  } catch {
    return [];
  }
  try {
    const stat = fstatSync(fd);
    return stat.isFile() ? cut(readEnd(fd, stat.size, count), count) : [];
  } finally {
    closeSync(fd);
  }
}

/**
 * @param {number} fd
 * @param {number} size
 * @param {number} count
 * @returns {Buffer}
 */
function readEnd(fd, size, count) {
  /** @type {Buffer[]} */
  const blocks = [];
  let newlines = 0;
  // One more than lines asked for: the file ends with one, and one closes the line before the first.
  for (let end = size; end > 0 && newlines <= count && size - end < LOOK_MAX_BYTES; ) {
    const start = Math.max(0, end - BLOCK_BYTES);
    const block = Buffer.alloc(end - start);
    const read = readSync(fd, block, 0, block.length, start);
    blocks.unshift(block.subarray(0, read));
    for (const byte of block) if (byte === NEWLINE) newlines++;
    end = start;
  }
  return Buffer.concat(blocks);
}

/**
 * @param {Buffer} bytes
 * @param {number} count
 */
function cut(bytes, count) {
  const lines = bytes.toString('utf8').split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines.slice(-count);
}
