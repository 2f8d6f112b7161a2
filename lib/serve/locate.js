import { realpath, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { isHidden } from './path.js';

/** @typedef {{type: 'file', root: string, file: string, bytes: number, modifiedAtMs: number} | {type: 'folder', root: string, folder: string} | {type: 'nothing'}} Found  `file` and `folder` are real paths, and inside the real `root`. */

/** What the file system says when there is nothing of that name, or nothing we may see. */
const ABSENT = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EACCES', 'EPERM', 'EINVAL'];

/**
 * Finds what a path leads to. Links are followed, and what they lead to has to be inside the folder: both ends are compared as the file system knows them,
 * whatever the letters of the request. The folder itself is looked up each time, because it may be a link that a deploy switches.
 * @param {string} folder
 * @param {string[]} segments
 * @returns {Promise<Found>}  Rejects with what is wrong with the machine.
 */
export async function locate(folder, segments) {
  try {
    const root = await realpath(folder);
    const path = await realpath(join(root, ...segments));
    const inside = relative(root, path);
    if (inside === '..' || inside.startsWith(`..${sep}`)) return { type: 'nothing' };
    // A link to a hidden file inside the folder is a way around the rule about them.
    if (inside.split(sep).some((name, at) => isHidden(name) && name !== segments[at])) return { type: 'nothing' };
    const facts = await stat(path);
    if (facts.isDirectory()) return { type: 'folder', root, folder: path };
    // A pipe, a socket or a device has no end.
    return facts.isFile() ? { type: 'file', root, file: path, bytes: facts.size, modifiedAtMs: facts.mtimeMs } : { type: 'nothing' };
  } catch (error) {
    if (ABSENT.includes(/** @type {NodeJS.ErrnoException} */ (error).code ?? '')) return { type: 'nothing' };
    throw error;
  }
}
