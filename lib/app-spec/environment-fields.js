import { isRecord } from '../shared/is-record.js';
import { isFilled, isText, orNull, words } from './kinds.js';
import { badKind, badOption, expandHome, reader, readPath } from './values.js';
import { EMPTY, inGroup, internal, option, row } from './row.js';

/** @import { Kind, StoredKind } from './kinds.js' */
/** @import { FieldRow } from './table.js' */

const ENVIRONMENT_FORMS = 'an object whose values are texts, numbers, true, false, objects or lists';
const FILES_FORMS = 'a path, or a list of paths';
const SOURCE_FORMS = 'the path of a file, { "file": "<path>" } or { "command": "<shell command>" }';
const SECRETS_FORMS = `an object of variables; each is ${SOURCE_FORMS}`;
const FILTER_FORMS = 'true for all shell variables, the name of a variable, or a list of texts that names contain';

const FILE_SCHEMA = { type: 'string' };
const SOURCE_SCHEMA = {
  anyOf: [
    FILE_SCHEMA,
    { type: 'object', required: ['file'], additionalProperties: false, properties: { file: FILE_SCHEMA } },
    { type: 'object', required: ['command'], additionalProperties: false, properties: { command: FILE_SCHEMA } },
  ],
};

/** A kind of which only nclust makes values. */
const VARIABLES = {
  accepts: areVariables,
  stored: 'an object of texts whose keys do not contain "="',
  type: 'Record<string, string>',
};

const FILES = {
  read: asEnvFiles,
  accepted: FILES_FORMS,
  schema: { type: ['string', 'array'], items: { type: 'string' } },
  accepts: (/** @type {unknown} */ value) => Array.isArray(value) && value.every(isFilled),
  stored: 'a list of paths',
  type: 'string[]',
};

const VARIABLE = {
  ...reader('the name of a variable', (value) => (isVariableName(value) ? value : undefined)),
  schema: { type: 'string' },
  accepts: isVariableName,
  type: 'string',
};

/** @type {Kind} */
const ENV = {
  ...VARIABLES,
  read: readEnvironment,
  accepted: ENVIRONMENT_FORMS,
  schema: { type: 'object' },
};

/** @type {StoredKind} */
const FILE_ENV = {
  accepts: areFileEnvs,
  stored: 'a list of { "file", "env" }',
  type: '{ file: string, env: Record<string, string> }[]',
};

/** @type {Kind} */
const SECRETS = {
  read: asSecrets,
  accepted: SECRETS_FORMS,
  schema: { type: 'object', additionalProperties: SOURCE_SCHEMA },
  accepts: areSecrets,
  stored: 'an object whose values are { "file": "<path>" } or { "command": "<shell command>" }',
  type: 'Record<string, { file: string } | { command: string }>',
};

/** @type {Kind} */
const FILTER = {
  ...reader(FILTER_FORMS, (value) => (value === null ? false : isFilter(value) ? value : undefined)),
  schema: { type: ['boolean', 'string', 'array'], items: { type: 'string' } },
  accepts: isFilter,
  stored: `${FILTER_FORMS}, or false`,
  type: 'boolean | string | string[]',
};

/** The sources of the variables of an app. @type {FieldRow[]} */
export const ENVIRONMENT = [
  row('env', ENV, EMPTY, {
    isBuilt: true,
    needs: 'rollout',
    isPrivate: true,
    help: 'variables for the app',
    note: 'Overrides `shellEnv`.',
  }),
  ...inGroup('Variables:', [
    row('env_file', FILES, [], {
      aliases: ['env_files'],
      flags: '--env-file <path>',
      isRepeatable: true,
      field: 'envFiles',
      needs: 'rollout',
      help:
        'file with lines KEY=value, read at each start, restart and reload; may be given several times; ' +
        'the last one wins; "none" to disable',
      meaning: 'files with lines KEY=value; the last one wins',
      note: 'Relative to `cwd`.',
    }),
    option('--env-files <path>', 'envFiles', FILES, {
      isRepeatable: true,
      help: 'the same as --env-file; for "node .../nclust.js", because Node.js reads --env-file itself',
    }),
  ]),
  internal('fileEnv', FILE_ENV, [], {
    shownAs: 'env_file',
    needs: 'rollout',
    note: 'Contents of `envFiles` when the generation started. Paths are absolute.',
  }),
  row('secrets', SECRETS, EMPTY, {
    needs: 'rollout',
    isPrivate: true,
    help: 'variables from a file or a command; nclust does not store the values',
  }),
  ...inGroup('Variables:', [
    row('filter_env', FILTER, false, {
      flags: '--filter-env [name]',
      isRepeatable: true,
      needs: 'rollout',
      help:
        'leave out variables of the shell whose names contain this; may be given several times; without a ' +
        'name, leave out all of them',
      meaning: 'variables of the shell that the app does not get',
      note: 'A text: the variable of this name. A list: variables whose names contain one of the texts.',
    }),
    row('increment_var', orNull({ ...VARIABLE, read: asVariableOrNone }, 'none'), null, {
      flags: '--increment-var <name>',
      needs: 'rollout',
      isPm2: true,
      help: 'variable that is one higher for each further instance; "none" to disable',
    }),
    row('instance_var', VARIABLE, 'NODE_APP_INSTANCE', {
      flags: '--instance-var <name>',
      needs: 'rollout',
      isPm2: true,
      help: 'variable that holds the number of the instance',
    }),
  ]),
  internal('shellEnv', VARIABLES, EMPTY, {
    shownAs: 'shell',
    needs: 'along',
    isPrivate: true,
    note: 'Variables of the shell that has started the app.',
  }),
  internal('envName', orNull({ accepts: isFilled, stored: 'a text', type: 'string' }, 'none'), null, {
    shownAs: 'env_name',
    needs: 'nothing',
    note: 'The app uses `env_<name>` of the config file.',
  }),
  internal('interpreterEnv', VARIABLES, EMPTY, {
    shownAs: 'interpreter',
    isDerived: true,
    needs: 'rollout',
    note: 'All other sources override these variables.',
  }),
  internal('ownerEnv', VARIABLES, EMPTY, {
    shownAs: 'user',
    isDerived: true,
    needs: 'rollout',
    note: 'HOME, USER and LOGNAME, if the app has a user.',
  }),
  internal('envUnquoted', words, [], {
    shownAs: 'env',
    isDerived: true,
    needs: 'nothing',
    note: 'Variables of `env` that were given as a number or boolean.',
  }),
];

/** @param {unknown} value */
export function areVariables(value) {
  return (
    isRecord(value) &&
    Object.entries(value).every(([key, text]) => isText(text) && isText(key) && key !== '' && !key.includes('='))
  );
}

/**
 * Leaves out a variable that is undefined or null, as in `TOKEN: process.env.TOKEN`.
 * @param {unknown} value
 * @param {string} where
 * @returns {Record<string, string | number | boolean>}
 */
export function readEnvironment(value, where) {
  if (!isRecord(value)) throw badKind(where, value, ENVIRONMENT_FORMS);
  const declared = Object.entries(value).filter(([, one]) => one !== undefined && one !== null);
  return Object.fromEntries(
    declared.map(([key, one]) => [checkVariable(key, where), asVariable(one, `${where}.${key}`)]),
  );
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

/**
 * @param {unknown} value
 * @param {string} where
 */
function asEnvFiles(value, where) {
  if (value === false || value === null) return [];
  const files = [value].flat().map((one) => {
    if (typeof one === 'string') return readPath(one, where);
    throw badOption(where, one, FILES_FORMS);
  });
  return files.length === 1 && files[0] === 'none' ? [] : files;
}

/**
 * An error does not show the value, because it may be the secret itself.
 * @param {unknown} value
 * @param {string} where
 */
function asSecrets(value, where) {
  if (value === false || value === null) return {};
  if (!isRecord(value)) throw badKind(where, value, SECRETS_FORMS);
  return Object.fromEntries(
    Object.entries(value).map(([name, source]) => [VARIABLE.read(name, where), asSource(source, `${where}.${name}`)]),
  );
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asSource(value, where) {
  const source = typeof value === 'string' ? { file: value } : value;
  const [[key, text] = ['', ''], ...others] = isRecord(source) ? Object.entries(source) : [];
  if (!['file', 'command'].includes(key) || others.length > 0) throw badKind(where, value, SOURCE_FORMS);
  if (typeof text !== 'string' || text.trim() === '')
    throw badKind(`${where}.${key}`, text, 'a text that is not empty');
  return { [key]: key === 'file' ? expandHome(text) : text };
}

/** @param {unknown} value */
function areSecrets(value) {
  return isRecord(value) && Object.entries(value).every(([name, source]) => isVariableName(name) && isSource(source));
}

/** @param {unknown} value */
function isSource(value) {
  if (!isRecord(value)) return false;
  const [key, ...others] = Object.keys(value);
  return (key === 'file' || key === 'command') && others.length === 0 && isFilled(value[key]);
}

/** @param {unknown} value */
function isFilter(value) {
  return typeof value === 'boolean' || isVariableName(value) || (Array.isArray(value) && value.every(isVariableName));
}

/** @param {unknown} value */
function areFileEnvs(value) {
  return Array.isArray(value) && value.every((one) => isRecord(one) && isFilled(one.file) && areVariables(one.env));
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asVariableOrNone(value, where) {
  return value === null || value === false || value === 'none' ? null : VARIABLE.read(value, where);
}

/**
 * @param {unknown} value
 * @returns {value is string}
 */
function isVariableName(value) {
  return isFilled(value) && !value.includes('=');
}
