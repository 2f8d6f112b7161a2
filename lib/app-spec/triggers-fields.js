import { createRequire } from 'node:module';
import { isRecord } from '../shared/is-record.js';
import { BYTES_FORMS, DURATION_FORMS, parseBytes, parseDuration } from '../shared/units.js';
import { flag, isFigure, isFilled, isText, isWhole, orNull, whole, words } from './kinds.js';
import { badOption, expandHome, reader, readPath } from './values.js';
import { readWatchPattern } from './watch-pattern.js';
import { EMPTY, inGroup, internal, option, row } from './row.js';

/** @import { Kind } from './kinds.js' */
/** @import { FieldRow } from './table.js' */

/** Refuses 300, because the user means "300M". 300 bytes would reload the app at every check. */
const MEMORY_MIN_BYTES = 1024 ** 2;
const CRON_MAX = 200;
/** A much longer pattern makes glob matchers throw. */
const PATTERN_MAX = 4096;

const IGNORE_FORMS = 'names, paths, globs or regular expressions: "node_modules", "*.log", "public/*"';
const DELAY_FORMS = 'seconds (2), or a number with ms, s or m ("500ms"); in a file a number is milliseconds';
const CRON_FORMS = 'a cron pattern such as "0 3 * * *" or "*/10 * * * * *" (with seconds), or 0 for none';

/** @type {Kind} */
const PATTERNS = {
  read: asWatch,
  accepted: 'true, false, a path, or a list of paths and globs',
  schema: { type: ['boolean', 'string', 'array'], items: { type: 'string' } },
  accepts: (value) => Array.isArray(value) && value.every((one) => isText(one) && one.length <= PATTERN_MAX),
  stored: `a list of texts of at most ${PATTERN_MAX} characters`,
  type: 'string[]',
};

const TEXTS = { type: ['string', 'array'], items: { type: 'string' } };
/** @type {Kind} */
const CRON = orNull(
  {
    read: asCron,
    accepted: CRON_FORMS,
    schema: { type: ['string', 'number', 'boolean', 'null'] },
    // The command and control check the pattern with croner.
    accepts: isCronText,
    stored: `a pattern such as "0 3 * * *", of at most ${CRON_MAX} characters`,
    type: 'string',
  },
  'none',
);

/** @type {Kind} */
const IGNORED = { ...PATTERNS, read: asIgnored, accepted: IGNORE_FORMS, schema: TEXTS };

/** @type {Kind} */
const EXTENSIONS = { ...words, read: asExtensions, accepted: 'extensions such as "js,json"', schema: TEXTS };

/** @type {Kind} */
const DELAY = { ...whole, read: asDelay, accepted: DURATION_FORMS, schema: { type: ['number', 'string'] } };

/** @type {Kind} */
const WATCH_OPTIONS = {
  ...reader('an object with options of chokidar', (value) => (isRecord(value) ? value : undefined)),
  schema: { type: 'object' },
  accepts: isRecord,
  stored: 'an object',
  type: 'Record<string, unknown>',
};

/** @type {Kind} */
const MEMORY = {
  ...reader(`0 for no limit, or from 1M, as ${BYTES_FORMS}`, asMemory),
  schema: { type: ['integer', 'string'] },
  accepts: isMemory,
  stored: `0 for no limit, or a whole number from ${MEMORY_MIN_BYTES}`,
  type: 'number',
};

/** @type {Kind} */
const PID_FILE = {
  read: asPidFile,
  accepted: 'a path, or "default"',
  schema: { type: 'string' },
  accepts: isText,
  stored: 'a path, or "" for the default one',
  type: 'string',
};

/** Triggers that reload an app, and its pid file. @type {FieldRow[]} */
export const TRIGGERS = [
  row('watch', PATTERNS, [], {
    flags: '--watch [path]',
    isRepeatable: true,
    defaultText: 'false',
    isNotRestart: true,
    isPm2: true,
    help: 'reload it when files change: in its working directory, or in this path; may be given several times',
    note: 'Files, folders and globs, relative to `cwd`.',
  }),
  ...inGroup('Watching files, and cron:', [
    option('--no-watch', 'watch', PATTERNS, { isNotRestart: true, help: 'reload it by command only (default)' }),
    row('ignore_watch', IGNORED, [], {
      flags: '--ignore-watch <path>',
      isRepeatable: true,
      isPm2: true,
      help:
        'do not watch these names, paths, globs or regular expression; may be given several times. ' +
        'Dotfiles, node_modules and log files of the app are never watched',
      meaning: 'do not watch these; dotfiles, node_modules and its log files are never watched',
      note: 'See readWatchPattern().',
    }),
    row('ext', EXTENSIONS, [], {
      aliases: ['watch_extensions'],
      flags: '--ext <list>',
      field: 'watchExtensions',
      defaultText: 'all',
      help: 'watch only files with these extensions: js,json',
      meaning: 'watch only files with these extensions',
      note: 'Without the dot. Empty: all files.',
    }),
    row('watch_delay', DELAY, 0, {
      flags: '--watch-delay <seconds>',
      field: 'watchDelayMs',
      defaultText: '100ms',
      isPm2: true,
      help: 'reload when no file has changed for this time: seconds, or 500ms',
      meaning: 'reload when no file has changed for this time',
      note: '0: 100 ms.',
    }),
  ]),
  row('watch_options', WATCH_OPTIONS, EMPTY, {
    isPm2: true,
    help:
      'settings of chokidar, which watches the files: usePolling, interval, followSymlinks, depth, ' +
      'awaitWriteFinish',
    meaning: 'usePolling, interval, followSymlinks, depth, awaitWriteFinish',
  }),
  internal('watchOff', flag, false, {
    shownAs: 'watch',
    note: 'Whether `stop --watch` or `restart --watch` has paused watching.',
  }),
  row('cron_restart', CRON, null, {
    aliases: ['cron'],
    flags: '-c, --cron <pattern>',
    isPublic: true,
    isPm2: true,
    help: 'reload it at the times of this cron pattern, with or without seconds, in local time; 0 to disable',
    meaning: 'reload it at these times, in local time',
  }),
  option('--cron-restart <pattern>', 'cronRestart', CRON, {
    group: 'Watching files, and cron:',
    help: 'the same as --cron',
  }),
  row('max_memory_restart', MEMORY, 0, {
    flags: '--max-memory-restart <size>',
    field: 'maxMemoryBytes',
    unit: 'bytes',
    defaultText: 'none',
    isPublic: true,
    isPm2: true,
    help: 'reload an instance that uses more memory than this, with its child processes: 300M, 1G; 0 for no limit',
    meaning: 'reload an instance that uses more memory than this, with its child processes',
  }),
  row('pid_file', PID_FILE, '', {
    aliases: ['pid'],
    flags: '-p, --pid <file>',
    defaultText: '$NCLUST_HOME/pids/<name>-<id>.pid',
    group: 'The program:',
    help: 'write its pid to this file, with -<id> before its extension; "default" for the file in $NCLUST_HOME/pids',
    meaning: 'write its pid to this file, with -<id> before its extension',
    note: 'Relative to `cwd`.',
  }),
  row('autostart', flag, true, {
    flags: '--no-autostart',
    isForNew: true,
    help: 'add it to the list without starting it',
    meaning: 'false: only add it to the list',
  }),
];

/**
 * @param {unknown} value
 * @param {string} where
 */
function asWatch(value, where) {
  if (value === true || value === 'true') return ['.'];
  if (value === false || value === null || value === 'false') return [];
  return listTexts(value, where, PATTERNS.accepted);
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
  const texts = listTexts(
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
  const words = listTexts(value, where, EXTENSIONS.accepted)
    .flatMap((text) => text.split(/[\s,]+/))
    .map((word) => word.replace(/^\*?\./, ''))
    .filter(Boolean);
  if (words.some((word) => /[/*]/.test(word))) throw badOption(where, value, EXTENSIONS.accepted);
  return words;
}

/**
 * As in PM2, a bare number is in seconds on the command line and in milliseconds in a file.
 * @param {unknown} value
 * @param {string} where
 */
function asDelay(value, where) {
  const isBare = typeof value === 'string' && where.startsWith('--') && /^\d+(\.\d+)?$/.test(value.trim());
  const ms = isFigure(value) ? parseDuration(isBare ? `${value.trim()}s` : value) : null;
  if (!whole.accepts(ms)) throw badOption(where, value, DELAY_FORMS);
  return ms;
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asCron(value, where) {
  if ([0, '0', '', false, null].includes(/** @type {any} */ (value))) return null;
  if (!isCronText(value)) throw badOption(where, value, CRON_FORMS);
  const fault = cronFault(value.trim());
  if (fault !== null) throw badOption(where, value, `${CRON_FORMS} (${fault})`);
  return value.trim();
}

/** @param {unknown} value */
function asMemory(value) {
  const bytes = isFigure(value) ? parseBytes(value) : null;
  return isMemory(bytes) ? bytes : undefined;
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
function listTexts(value, where, accepted) {
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

/** @param {unknown} value */
function isMemory(value) {
  return value === 0 || (isWhole(value) && value >= MEMORY_MIN_BYTES);
}

/**
 * @param {unknown} value
 * @returns {value is string}
 */
function isCronText(value) {
  return isFilled(value) && value.length <= CRON_MAX;
}
