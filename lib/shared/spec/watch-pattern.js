/**
 * What a text in `ignore_watch` means. People bring four kinds of them from PM2, whose chokidar told them apart by their looks as well.
 *
 *   "node_modules", "*.log"              name: of a file or folder, however deep
 *   "public/*", "./tmp", "/srv/data"     path: from the folder the app runs in; a folder goes with all that is in it
 *   "[\\/\\\\]\\./", "/^cache-/i"        regex: of the path from the folder the app runs in, with a slash before it
 *   "!public/index.html"                 not ignored after all
 * @typedef {{kind: 'name'|'path', glob: string, isException: boolean} | {kind: 'regex', regex: RegExp, isException: boolean}} WatchPattern
 */

/** What has a meaning in a regular expression and none in a glob. A slash escaped in a regular expression is the one thing both have. */
const REGEX_ONLY = /\\[^*?[\]{}()!]|^\^|\$$|\.\*/;

/**
 * @param {string} text
 * @returns {WatchPattern|null}  Null: it looks like a regular expression, and is none.
 */
export function readWatchPattern(text) {
  const isException = text.startsWith('!') && text.length > 1;
  const rest = isException ? text.slice(1) : text;
  const slashed = /^\/(.+)\/([imsu]*)$/.exec(rest);
  // "/srv/data/" is a path; what else stands between slashes holds a sign that no path has.
  if (slashed && /[\\^$|()]|\.\*/.test(slashed[1])) return regexOf(slashed[1], slashed[2], isException);
  if (REGEX_ONLY.test(rest)) return regexOf(rest, '', isException);
  const glob = rest.replace(/^\.\//, '').replace(/(?<=.)\/+$/, '');
  return { kind: glob.includes('/') ? 'path' : 'name', glob, isException };
}

/**
 * @param {string} source
 * @param {string} flags
 * @param {boolean} isException
 * @returns {WatchPattern|null}
 */
function regexOf(source, flags, isException) {
  try {
    return { kind: 'regex', regex: new RegExp(source, flags), isException };
  } catch {
    return null; // The caller says so, with the text.
  }
}
