import { badKind, badOption, KINDS } from './readers.js';

/** @import { StartOption } from './options.js' */

const ENVIRONMENT_FORMS = 'an object whose values are texts, numbers, true, false, objects or lists';
const MODE_FORMS = 'fork or cluster';
const PORT_FORMS = 'a number from 0 to 65535, or the path of a Unix socket';

/**
 * Leaves out a variable that is undefined or null, as in `TOKEN: process.env.TOKEN`.
 * @param {unknown} value
 * @param {string} where
 * @returns {Record<string, string | number | boolean>}
 */
export function readEnvironment(value, where) {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badKind(where, value, ENVIRONMENT_FORMS);
  const declared = Object.entries(value).filter(([, one]) => one !== undefined && one !== null);
  return Object.fromEntries(
    declared.map(([key, one]) => [checkVariable(key, where), asVariable(one, `${where}.${key}`)]),
  );
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asMode(value, where) {
  const mode = typeof value === 'string' ? value.replace(/_mode$/, '') : '';
  if (mode === 'cluster' || mode === 'fork') return mode;
  throw badOption(where, value, MODE_FORMS);
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asPort(value, where) {
  const text = typeof value === 'number' || typeof value === 'string' ? String(value).trim() : '';
  const isPort = /^\d+$/.test(text) ? Number(text) <= 65_535 : text.includes('/');
  if (isPort) return text;
  throw badOption(where, value, PORT_FORMS);
}

/**
 * @param {string} key
 * @param {string} where
 */
function checkVariable(key, where) {
  if (key !== '' && !/[=\0]/.test(key)) return key;
  throw badOption(where, key, 'variables whose names are not empty and hold no "="');
}

/**
 * An error does not show the value, because it may be a password.
 * @param {unknown} value
 * @param {string} where
 */
function asVariable(value, where) {
  if (typeof value === 'boolean' || Number.isFinite(value)) return /** @type {number | boolean} */ (value);
  const text =
    typeof value === 'object'
      ? JSON.stringify(value)
      : ['string', 'number', 'bigint'].includes(typeof value)
        ? String(value)
        : null;
  if (text !== null && !text.includes('\0')) return text;
  throw badKind(where, value, 'a text without a NUL, a number, true, false, an object or a list');
}

const { flag, path, text, words } = KINDS;

/**
 * Attributes that only a config file has. The command line has another form for them, or does not
 * need them.
 * @type {StartOption[]}
 */
export const FILE_OPTIONS = [
  {
    name: 'script',
    aliases: ['exec', 'cmd', 'command'],
    key: 'script',
    ...path,
    help: 'a file, a folder with index.js, a program in PATH, or a shell command (with a space)',
  },
  {
    name: 'args',
    key: 'args',
    ...words,
    default: 'none',
    help: 'arguments for the app; a text is split as in a shell',
  },
  {
    name: 'exec_mode',
    key: 'execMode',
    read: asMode,
    accepted: MODE_FORMS,
    schema: { enum: ['fork', 'fork_mode', 'cluster', 'cluster_mode'] },
    default: 'cluster for Node.js with "instances", else fork',
    help: 'instances share their ports (cluster) or are independent (fork)',
  },
  {
    name: 'env',
    key: 'env',
    field: 'env',
    read: readEnvironment,
    accepted: ENVIRONMENT_FORMS,
    schema: { type: 'object' },
    default: 'none',
    help: 'variables for the app',
  },
  {
    name: 'port',
    key: 'port',
    read: asPort,
    accepted: PORT_FORMS,
    schema: { type: ['integer', 'string'] },
    default: 'none',
    help: 'the variable PORT',
  },
  {
    name: 'username',
    key: 'username',
    field: 'user',
    ...text,
    default: 'the user of the process',
    help: 'user name that lists show',
  },
  {
    name: 'append_env_to_name',
    key: 'appendEnvToName',
    ...flag,
    default: 'false',
    help: 'with --env production, call the app <name>-production',
  },
];

/**
 * An attribute of PM2 that nclust accepts and ignores.
 * @param {string} name
 * @param {string} note
 * @param {string[]} [aliases]
 * @returns {StartOption}
 */
const unneeded = (name, note, aliases = []) => ({
  name,
  aliases,
  key: name,
  read: (value) => value,
  accepted: 'anything',
  schema: {},
  note,
  help: `accepted and not needed: ${note}`,
});

const MONITORING = 'for a monitoring service that nclust does not use';

/** @type {StartOption[]} */
export const UNNEEDED_OPTIONS = [
  unneeded('force', '`start` restarts an app of the file that runs already'),
  unneeded('kill_retry_time', 'nclust does not poll'),
  unneeded('post_update', 'nclust does not pull; use the hooks of `deploy`'),
  unneeded('windowsHide', 'nclust does not run on Windows'),
  unneeded('automation', MONITORING),
  unneeded('pmx', MONITORING),
  unneeded('trace', MONITORING),
  unneeded('disable_trace', MONITORING),
  unneeded('deep_monitoring', MONITORING),
  unneeded('event_loop_inspector', MONITORING),
  unneeded('v8', MONITORING),
  unneeded('km_link', MONITORING),
  unneeded('axm_options', MONITORING),
  unneeded('install_url', 'nclust has no modules'),
  unneeded('name_prefix', 'internal to PM2'),
  unneeded('write', 'internal to PM2'),
];
