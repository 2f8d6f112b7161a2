import { mkdirSync, readdirSync } from 'node:fs';
import module from 'node:module';
import { isAbsolute, join } from 'node:path';
import { statIfThere } from '../shared/daemon/files.js';
import { findHomeFault } from '../shared/daemon/home-folders.js';

/**
 * Makes Node.js 22.8 or later store the compiled code, so that the next command starts faster.
 * @param {Record<string, string | undefined>} env
 */
export function keepCompiled(env) {
  const folder = cacheFolder(env, process);
  // If the folder is not writable, Node.js does not use it and does not throw.
  if (folder && isOnlyOurs(folder))
    /** @type {{ enableCompileCache: (folder: string) => void }} */ (
      /** @type {unknown} */ (module)
    ).enableCompileCache(folder);
}

/**
 * @param {Record<string, string | undefined>} env
 * @param {{ platform: string, geteuid?: () => number }} o
 * @returns {string | null}  Null if HOME is not set, or if HOME or XDG_CACHE_HOME belongs to
 *   another user. Reason: sudo may keep HOME, and root must not run code that another user can
 *   write.
 */
export function cacheFolder({ HOME: home, XDG_CACHE_HOME: cache }, { platform, geteuid }) {
  const isOwn = (/** @type {string} */ folder) => statIfThere(folder)?.uid === geteuid?.();
  if (!home || !isOwn(home)) return null;
  if (cache && isAbsolute(cache)) return isOwn(cache) ? join(cache, 'nclust') : null;
  return join(home, platform === 'darwin' ? 'Library/Caches' : '.cache', 'nclust');
}

/**
 * Whether no other user can put code into the folder, or replace it or a folder above it. Makes a
 * missing folder first, because another user could make one in /tmp after the check.
 * @param {string} folder
 */
export function isOnlyOurs(folder) {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Node.js makes one folder for each of its versions in this folder.
    return [folder, ...readdirSync(folder).map((name) => join(folder, name))].every(
      (path) => findHomeFault(path) === null,
    );
  } catch {
    return false; // Not writable, or not readable by this user. nclust then runs without a cache.
  }
}
