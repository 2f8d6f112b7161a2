import { statSync } from 'node:fs';
import module from 'node:module';
import { isAbsolute, join } from 'node:path';

/**
 * Makes Node.js 22.8 or later store the compiled code, so that the next command starts faster.
 * @param {Record<string, string | undefined>} env
 */
export function keepCompiled(env) {
  const folder = cacheFolder(env, process);
  // If the folder is not writable, Node.js does not use it and does not throw.
  if (folder)
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
  const isOwn = (/** @type {string} */ folder) => ownerOf(folder) === geteuid?.();
  if (!home || !isOwn(home)) return null;
  if (cache && isAbsolute(cache)) return isOwn(cache) ? join(cache, 'nclust') : null;
  return join(home, platform === 'darwin' ? 'Library/Caches' : '.cache', 'nclust');
}

/** @param {string} folder */
function ownerOf(folder) {
  try {
    return statSync(folder).uid;
  } catch {
    return null; // Missing, or not readable by this user.
  }
}
