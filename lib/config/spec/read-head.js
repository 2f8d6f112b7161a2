import { closeSync, openSync, readSync } from 'node:fs';
import { basename } from 'node:path';

/**
 * What the first bytes of a file say about how to run it.
 * @typedef {{type: 'shebang', program: string} | {type: 'binary'} | {type: 'text'}} Head
 */

const HEAD_BYTES = 512;

/** ELF, Mach-O (both byte orders, 32 and 64 bit, universal). */
const MAGIC = ['7f454c46', 'feedface', 'feedfacf', 'cefaedfe', 'cffaedfe', 'cafebabe'];

/**
 * @param {string} file
 * @returns {Head}  For a shebang: the base name of the program, looked up behind `env` and its options. Throws when the file cannot be read.
 */
export function readHead(file) {
  const fd = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(HEAD_BYTES);
    const length = readSync(fd, bytes, 0, HEAD_BYTES, 0);
    return headOf(bytes.subarray(0, length));
  } finally {
    closeSync(fd);
  }
}

/**
 * @param {Buffer} bytes
 * @returns {Head}
 */
function headOf(bytes) {
  if (MAGIC.includes(bytes.toString('hex', 0, 4)) || bytes.includes(0)) return { type: 'binary' };
  const line = /^#!\s*(.*)/.exec(bytes.toString('utf8'))?.[1];
  if (!line) return { type: 'text' };
  const [first, ...rest] = line.trim().split(/\s+/);
  if (basename(first) !== 'env') return { type: 'shebang', program: basename(first) };
  const program = rest.find((word) => !word.startsWith('-') && !word.includes('='));
  return program ? { type: 'shebang', program: basename(program) } : { type: 'text' };
}
