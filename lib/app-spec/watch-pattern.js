/** @import { AppSpec } from './types.js' */

/** @param {Pick<AppSpec, 'watch' | 'watchOff'>} spec */
export function isWatched({ watch, watchOff }) {
  return watch.length > 0 && !watchOff;
}

/**
 * The four kinds of patterns. nclust recognizes the kind by the form of the pattern, as PM2 does.
 *   "node_modules", "*.log"              name: of a file or folder, at any depth
 *   "public/*", "./tmp", "/srv/data"     path: from `cwd`; a folder includes its contents
 *   "[\\/\\\\]\\./", "/^cache-/i"        regex: of the path from `cwd`, with a slash before it
 *   "!public/index.html"                 exception: not ignored
 * @typedef {{ kind: 'name' | 'path', glob: string, isException: boolean }
 *   | { kind: 'regex', regex: RegExp, isException: boolean }} WatchPattern
 */

/** A pattern that contains one of these signs is a regular expression, not a glob. */
const REGEX_ONLY = /\\[^*?[\]{}()!]|^\^|\$$|\.\*/;

/**
 * @param {string} text
 * @returns {WatchPattern | null}  Null: an invalid regular expression.
 */
export function readWatchPattern(text) {
  const isException = text.startsWith('!') && text.length > 1;
  const rest = isException ? text.slice(1) : text;
  const slashed = /^\/(.+)\/([imsu]*)$/.exec(rest);
  // Without a character that is rare in paths, a pattern such as "/srv/data/" is a path.
  if (slashed && /[\\^$|()]|\.\*/.test(slashed[1])) return toRegex(slashed[1], slashed[2], isException);
  if (REGEX_ONLY.test(rest)) return toRegex(rest, '', isException);
  const glob = rest.replace(/^\.\//, '').replace(/(?<=.)\/+$/, '');
  return { kind: glob.includes('/') ? 'path' : 'name', glob, isException };
}

/**
 * @param {string} source
 * @param {string} flags
 * @param {boolean} isException
 * @returns {WatchPattern | null}
 */
function toRegex(source, flags, isException) {
  try {
    return { kind: 'regex', regex: new RegExp(source, flags), isException };
  } catch {
    return null;
  }
}
