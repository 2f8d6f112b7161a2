import { createRequire } from 'node:module';
import { readWatchPattern, TRIGGER_RULES } from '../../shared/spec/triggers.js';
import { BYTES_FORMS, DURATION_FORMS, parseBytes, parseDuration } from '../../shared/units.js';
import { expandHome, readFlag, readPath, badOption } from './readers.js';

/** @import { StartOption } from './options.js' */

const WATCH_FORMS = 'true, false, a path, or a list of paths and globs';
const IGNORE_FORMS = 'names, paths, globs or regular expressions: "node_modules", "*.log", "public/*"';
const DELAY_FORMS = 'seconds (2), or a number with ms, s or m ("500ms"); in a file a number is milliseconds';
const EXTENSION_FORMS = 'extensions such as "js,json"';
const CRON_FORMS = 'a cron pattern such as "0 3 * * *" or "*/10 * * * * *" (with seconds), or 0 for none';
const MEMORY_FORMS = `0 for no limit, or from 1M, as ${BYTES_FORMS}`;
const OBJECT_FORMS = 'an object with options of chokidar';

const TEXTS = { type: ['string', 'array'], items: { type: 'string' } };

/** Options for the triggers that reload an app, and for its pid file. @type {StartOption[]} */
export const TRIGGER_OPTIONS = [
  {
    flags: '--watch [path]',
    key: 'watch',
    field: 'watch',
    name: 'watch',
    isRepeatable: true,
    read: asWatch,
    accepted: WATCH_FORMS,
    schema: { type: ['boolean', 'string', 'array'], items: { type: 'string' } },
    default: 'false',
    help: 'reload it when files change: in its working directory, or in this path; may be given several times',
  },
  { flags: '--no-watch', key: 'watch', field: 'watch', read: asWatch, help: 'reload it by command only (default)' },
  {
    flags: '--ignore-watch <path>',
    key: 'ignoreWatch',
    field: 'ignoreWatch',
    name: 'ignore_watch',
    isRepeatable: true,
    read: asIgnored,
    accepted: IGNORE_FORMS,
    schema: TEXTS,
    default: 'none',
    help:
      'do not watch these names, paths, globs or regular expression; may be given several times. ' +
      'Dotfiles, node_modules and log files of the app are never watched',
    meaning: 'do not watch these; dotfiles, node_modules and its log files are never watched',
  },
  {
    flags: '--ext <list>',
    key: 'ext',
    field: 'watchExtensions',
    name: 'ext',
    aliases: ['watch_extensions'],
    read: asExtensions,
    accepted: EXTENSION_FORMS,
    schema: TEXTS,
    default: 'all',
    help: 'watch only files with these extensions: js,json',
    meaning: 'watch only files with these extensions',
  },
  {
    flags: '--watch-delay <seconds>',
    key: 'watchDelay',
    field: 'watchDelayMs',
    name: 'watch_delay',
    read: asDelay,
    accepted: DURATION_FORMS,
    schema: { type: ['number', 'string'] },
    default: '100ms',
    help: 'reload when no file has changed for this time: seconds, or 500ms',
    meaning: 'reload when no file has changed for this time',
  },
  {
    key: 'watchOptions',
    field: 'watchOptions',
    name: 'watch_options',
    read: asWatchOptions,
    accepted: OBJECT_FORMS,
    schema: { type: 'object' },
    default: 'none',
    help:
      'settings of chokidar, which watches the files: usePolling, interval, followSymlinks, depth, ' +
      'awaitWriteFinish',
    meaning: 'usePolling, interval, followSymlinks, depth, awaitWriteFinish',
  },
  {
    flags: '-c, --cron <pattern>',
    key: 'cron',
    field: 'cronRestart',
    name: 'cron_restart',
    aliases: ['cron'],
    read: asCron,
    accepted: CRON_FORMS,
    schema: { type: ['string', 'number', 'boolean', 'null'] },
    default: 'none',
    help: 'reload it at the times of this cron pattern, with or without seconds, in local time; 0 to disable',
    meaning: 'reload it at these times, in local time',
  },
  {
    flags: '--cron-restart <pattern>',
    key: 'cronRestart',
    field: 'cronRestart',
    read: asCron,
    help: 'the same as --cron',
  },
  {
    flags: '--max-memory-restart <size>',
    key: 'maxMemoryRestart',
    field: 'maxMemoryBytes',
    name: 'max_memory_restart',
    read: asMemory,
    accepted: MEMORY_FORMS,
    schema: { type: ['integer', 'string'] },
    unit: 'bytes',
    default: 'none',
    help: 'reload an instance that uses more memory than this, with its child processes: 300M, 1G; 0 for no limit',
    meaning: 'reload an instance that uses more memory than this, with its child processes',
  },
  {
    flags: '-p, --pid <file>',
    key: 'pid',
    field: 'pidFile',
    name: 'pid_file',
    aliases: ['pid'],
    read: asPidFile,
    accepted: 'a path, or "default"',
    schema: { type: 'string' },
    default: '$NCLUST_HOME/pids/<name>-<id>.pid',
    help: 'write its pid to this file, with -<id> before its extension; "default" for the file in $NCLUST_HOME/pids',
    meaning: 'write its pid to this file, with -<id> before its extension',
  },
];

/** All trigger options except --watch, because `restart --watch` has another meaning. */
export const RESTART_TRIGGER_OPTIONS = TRIGGER_OPTIONS.filter(({ key }) => key !== 'watch');

/** Options that apply only when an app is added to the list. @type {StartOption[]} */
export const ADDING_OPTIONS = [
  {
    flags: '--no-autostart',
    key: 'autostart',
    field: 'autostart',
    name: 'autostart',
    read: readFlag,
    accepted: 'true or false',
    schema: { type: 'boolean' },
    default: 'true',
    help: 'add it to the list without starting it',
    meaning: 'false: only add it to the list',
  },
];

/**
 * @param {unknown} value
 * @param {string} where
 */
function asWatch(value, where) {
  if (value === true || value === 'true') return ['.'];
  if (value === false || value === null || value === 'false') return [];
  return textsOf(value, where, WATCH_FORMS);
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asIgnored(value, where) {
  if (value === false || value === null) return [];
  // As in PM2, a text may contain several patterns, separated by spaces. If a config file has a
  // list, each entry is one pattern and may contain spaces.
  const isText = !Array.isArray(value) || where.startsWith('--');
  const given = [value]
    .flat()
    .flatMap((one) =>
      isText && typeof one === 'string' && !/^\s*\/.*\/[a-z]*\s*$/.test(one) && one.trim() !== ''
        ? one.trim().split(/\s+/)
        : [one],
    );
  // Turns RegExp objects into texts. Only a config file that is code can contain such objects.
  const texts = textsOf(
    given.map((one) => (one instanceof RegExp ? `/${one.source}/${one.flags.replace(/[^imsu]/g, '')}` : one)),
    where,
    IGNORE_FORMS,
  );
  const bad = texts.find((text) => readWatchPattern(text) === null);
  if (bad !== undefined)
    throw badOption(where, bad, `${IGNORE_FORMS}; it looks like a regular expression but is not valid`);
  return texts;
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asExtensions(value, where) {
  const words = textsOf(value, where, EXTENSION_FORMS)
    .flatMap((text) => text.split(/[\s,]+/))
    .map((word) => word.replace(/^\*?\./, ''))
    .filter(Boolean);
  if (words.some((word) => /[/*]/.test(word))) throw badOption(where, value, EXTENSION_FORMS);
  return words;
}

/**
 * As in PM2, a bare number is in seconds on the command line and in milliseconds in a file.
 * @param {unknown} value
 * @param {string} where
 */
function asDelay(value, where) {
  const isBare = typeof value === 'string' && where.startsWith('--') && /^\d+(\.\d+)?$/.test(value.trim());
  const ms =
    typeof value === 'number' || typeof value === 'string' ? parseDuration(isBare ? `${value.trim()}s` : value) : null;
  if (ms === null || !TRIGGER_RULES.watchDelayMs.accepts(ms)) throw badOption(where, value, DELAY_FORMS);
  return ms;
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asWatchOptions(value, where) {
  if (!TRIGGER_RULES.watchOptions.accepts(value)) throw badOption(where, value, OBJECT_FORMS);
  return value;
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asCron(value, where) {
  if ([0, '0', '', false, null].includes(/** @type {any} */ (value))) return null;
  if (typeof value !== 'string' || !TRIGGER_RULES.cronRestart.accepts(value)) throw badOption(where, value, CRON_FORMS);
  const fault = cronFault(value.trim());
  if (fault !== null) throw badOption(where, value, `${CRON_FORMS} (${fault})`);
  return value.trim();
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asMemory(value, where) {
  const bytes = typeof value === 'number' || typeof value === 'string' ? parseBytes(value) : null;
  if (bytes === null || !TRIGGER_RULES.maxMemoryBytes.accepts(bytes)) throw badOption(where, value, MEMORY_FORMS);
  return bytes;
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asPidFile(value, where) {
  return value === 'default' ? '' : readPath(value, where);
}

/**
 * @param {unknown} value
 * @param {string} where
 * @param {string} accepted
 * @returns {string[]}
 */
function textsOf(value, where, accepted) {
  const given = [value].flat();
  const texts = given.map((text) => (typeof text === 'string' ? expandHome(text) : text));
  if (texts.some((text) => typeof text !== 'string' || text.trim() === '')) throw badOption(where, value, accepted);
  return /** @type {string[]} */ (texts);
}

/**
 * @param {string} pattern
 * @returns {string | null}  The message of croner, or that no date matches. Null: the pattern is
 *   valid.
 */
function cronFault(pattern) {
  // Loads croner only here, because every command with options loads this file.
  const { Cron } = /** @type {typeof import('croner')} */ (createRequire(import.meta.url)('croner'));
  try {
    return new Cron(pattern, { paused: true, sloppyRanges: true }).nextRun() === null ? 'no date matches it' : null;
  } catch (error) {
    return /** @type {Error} */ (error).message.replace(/^CronPattern: /, '').replace(/\.$/, '');
  }
}
