import { flag, isText, isWhole, nullable, texts, whole } from './rules.js';

/** @import { Rule } from './rules.js' */

/**
 * @typedef {object} TriggerSpec
 * @property {string[]} watch  Files, folders and globs, relative to `cwd`.
 * @property {boolean} watchOff  Whether `stop --watch` or `restart --watch` has paused watching.
 * @property {string[]} ignoreWatch  See readWatchPattern().
 * @property {string[]} watchExtensions  Without the dot. Empty: all files.
 * @property {number} watchDelayMs  Quiet time before the reload. 0: 100 ms.
 * @property {Record<string, unknown>} watchOptions  For chokidar.
 * @property {string | null} cronRestart  For croner.
 * @property {number} maxMemoryBytes  For an instance with its descendants. 0: no limit.
 * @property {boolean} autostart  False: nclust adds a new app to the list, but does not start it.
 * @property {string} pidFile  Empty: <home>/pids/<name>-<id>.pid. Relative to `cwd`.
 */

/** Refuses 300, because the user means "300M". 300 bytes would reload the app at every check. */
const MEMORY_MIN_BYTES = 1024 ** 2;

const CRON_MAX = 200;

/** A much longer pattern makes glob matchers throw. */
const PATTERN_MAX = 4096;

/** @type {{ [K in keyof TriggerSpec]: Rule }} */
export const TRIGGER_RULES = {
  watch: patterns(),
  watchOff: flag(false),
  ignoreWatch: patterns(),
  watchExtensions: texts(),
  watchDelayMs: whole(0),
  watchOptions: { accepts: isPlain, accepted: 'an object', fallback: {} },
  cronRestart: nullable(
    { accepts: isCronText, accepted: `a pattern such as "0 3 * * *", of at most ${CRON_MAX} characters` },
    'none',
  ),
  maxMemoryBytes: {
    accepts: (value) => value === 0 || (isWhole(value) && value >= MEMORY_MIN_BYTES),
    accepted: `0 for no limit, or a whole number from ${MEMORY_MIN_BYTES}`,
    fallback: 0,
  },
  autostart: flag(true),
  pidFile: { accepts: isText, accepted: 'a path, or "" for the default one', fallback: '' },
};

/** @returns {Rule} */
function patterns() {
  return {
    accepts: (value) => Array.isArray(value) && value.every((one) => isText(one) && one.length <= PATTERN_MAX),
    accepted: `a list of texts of at most ${PATTERN_MAX} characters`,
    fallback: [],
  };
}

/** @param {TriggerSpec} spec */
export function isWatched({ watch, watchOff }) {
  return watch.length > 0 && !watchOff;
}

/** @param {unknown} value */
function isPlain(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Does not check the pattern. The command and control do this with croner.
 * @param {unknown} value
 */
function isCronText(value) {
  return isText(value) && value.trim() !== '' && value.length <= CRON_MAX;
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
  if (slashed && /[\\^$|()]|\.\*/.test(slashed[1])) return regexOf(slashed[1], slashed[2], isException);
  if (REGEX_ONLY.test(rest)) return regexOf(rest, '', isException);
  const glob = rest.replace(/^\.\//, '').replace(/(?<=.)\/+$/, '');
  return { kind: glob.includes('/') ? 'path' : 'name', glob, isException };
}

/**
 * @param {string} source
 * @param {string} flags
 * @param {boolean} isException
 * @returns {WatchPattern | null}
 */
function regexOf(source, flags, isException) {
  try {
    return { kind: 'regex', regex: new RegExp(source, flags), isException };
  } catch {
    return null;
  }
}
