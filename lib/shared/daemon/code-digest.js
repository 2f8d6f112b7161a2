import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @param {string} root  Of an installation.
 * @param {string[]} parts  Files and folders, relative to the root.
 * @returns {string}  Digest of the files now. At boot, these files are the running code.
 */
export function digestCode(root, parts) {
  const hash = createHash('sha256');
  for (const name of parts.flatMap((part) => listFiles(root, part)))
    hash.update(`${name}\0`).update(readFileSync(join(root, name)));
  return hash.digest('hex');
}

/**
 * @param {string} root
 * @param {string} part
 * @returns {string[]}  Relative to the root, in an order that does not depend on the file system.
 */
function listFiles(root, part) {
  if (!statSync(join(root, part)).isDirectory()) return [part];
  return readdirSync(join(root, part), { withFileTypes: true })
    .filter((entry) => entry.isFile() || entry.isDirectory()) // Not the link by which an editor locks a file.
    .map((entry) => entry.name)
    .sort()
    .flatMap((name) => listFiles(root, join(part, name)));
}
