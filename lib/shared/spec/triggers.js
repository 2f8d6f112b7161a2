import { flag, isText, isWhole, orNull, texts, whole } from './rules.js';

/**
 * What replaces or starts the instances of an app besides commands, and where their pid is written.
 * @typedef {object} TriggerSpec
 * @property {string[]} watch  Files, folders and globs whose changes replace it; relative ones count from `cwd`. Empty: nothing is watched.
 * @property {boolean} watchOff  They are not watched for now, by `stop --watch` or `restart --watch`.
 * @property {string[]} ignoreWatch  Names, paths, globs and regular expressions: see watch-pattern.js.
 * @property {string[]} watchExtensions  Without the dot. Empty: of all files.
 * @property {number} watchDelayMs  How long nothing may have changed before it is replaced. 0: 100 ms.
 * @property {Record<string, unknown>} watchOptions  For chokidar.
 * @property {string|null} cronRestart  A pattern for croner.
 * @property {number} maxMemoryBytes  Of an instance and its descendants together. 0: no limit.
 * @property {boolean} autostart  False: it is added to the list as stopped.
 * @property {string} pidFile  Empty: <home>/pids/<name>-<id>.pid. A relative path counts from `cwd`.
 */

/** Less would be a reload with every look: 300 typed for "300M". */
const MEMORY_MIN_BYTES = 1024 ** 2;

const CRON_MAX = 200;

/** The longest path there is. What makes matchers of globs throws at much more. */
const PATTERN_MAX = 4096;

/** @type {{[K in keyof TriggerSpec]: import('./rules.js').Rule}} */
export const TRIGGER_RULES = {
  watch: patterns(),
  watchOff: flag(false),
  ignoreWatch: patterns(),
  watchExtensions: texts(),
  watchDelayMs: whole(0),
  watchOptions: { accepts: isPlain, accepted: 'an object', fallback: {} },
  cronRestart: orNull({ accepts: isCronText, accepted: `a pattern such as "0 3 * * *", of at most ${CRON_MAX} characters` }, 'none'),
  maxMemoryBytes: { accepts: (value) => value === 0 || (isWhole(value) && value >= MEMORY_MIN_BYTES), accepted: `0 for no limit, or a whole number from ${MEMORY_MIN_BYTES}`, fallback: 0 },
  autostart: flag(true),
  pidFile: { accepts: isText, accepted: 'a path, or "" for the default one', fallback: '' },
};

/** @returns {import('./rules.js').Rule} */
function patterns() {
  return { accepts: (value) => Array.isArray(value) && value.every((one) => isText(one) && one.length <= PATTERN_MAX), accepted: `a list of texts of at most ${PATTERN_MAX} characters`, fallback: [] };
}

/** @param {TriggerSpec} spec */
export function isWatched({ watch, watchOff }) {
  return watch.length > 0 && !watchOff;
}

/** @param {unknown} value */
function isPlain(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether croner understands it is asked where croner can be loaded. @param {unknown} value */
function isCronText(value) {
  return isText(value) && value.trim() !== '' && value.length <= CRON_MAX;
}
