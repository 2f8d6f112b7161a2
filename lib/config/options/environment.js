import { FILTER_FORMS, isVariableName, SECRET_FORMS } from '../../shared/spec/environment.js';
import { expandHome, readPath, badKind, badOption } from './readers.js';

/** @import { StartOption } from './options.js' */

const FILES_FORMS = 'a path, or a list of paths';
const SECRETS_FORMS = `an object of variables; each is the path of a file, ${SECRET_FORMS}`;
const VARIABLE_FORMS = 'the name of a variable';
const TEXTS = { type: ['string', 'array'], items: { type: 'string' } };
const SOURCE_SCHEMA = {
  anyOf: [
    { type: 'string' },
    { type: 'object', required: ['file'], additionalProperties: false, properties: { file: { type: 'string' } } },
    { type: 'object', required: ['command'], additionalProperties: false, properties: { command: { type: 'string' } } },
  ],
};

/** @type {StartOption[]} */
export const ENVIRONMENT_OPTIONS = [
  {
    flags: '--env-file <path>',
    key: 'envFile',
    field: 'envFiles',
    name: 'env_file',
    aliases: ['env_files'],
    isRepeatable: true,
    read: asEnvFiles,
    accepted: FILES_FORMS,
    schema: TEXTS,
    default: 'none',
    help:
      'file with lines KEY=value, read at each start, restart and reload; may be given several times; ' +
      'the last one wins; "none" to disable',
    meaning: 'files with lines KEY=value; the last one wins',
  },
  {
    flags: '--env-files <path>',
    key: 'envFiles',
    field: 'envFiles',
    isRepeatable: true,
    read: asEnvFiles,
    help: 'the same as --env-file; for "node .../nclust.js", because Node.js reads --env-file itself',
  },
  {
    key: 'secrets',
    field: 'secrets',
    name: 'secrets',
    read: asSecrets,
    accepted: SECRETS_FORMS,
    schema: { type: 'object', additionalProperties: SOURCE_SCHEMA },
    default: 'none',
    help: 'variables from a file or a command; nclust does not store the values',
  },
  {
    flags: '--filter-env [name]',
    key: 'filterEnv',
    field: 'filterEnv',
    name: 'filter_env',
    isRepeatable: true,
    read: asFilter,
    accepted: FILTER_FORMS,
    schema: { type: ['boolean', 'string', 'array'], items: { type: 'string' } },
    default: 'false',
    help:
      'leave out variables of the shell whose names contain this; may be given several times; without a ' +
      'name, leave out all of them',
    meaning: 'variables of the shell that the app does not get',
  },
  {
    flags: '--increment-var <name>',
    key: 'incrementVar',
    field: 'incrementVar',
    name: 'increment_var',
    read: asVariableOrNone,
    accepted: VARIABLE_FORMS,
    schema: { type: 'string' },
    default: 'none',
    help: 'variable that is one higher for each further instance; "none" to disable',
  },
  {
    flags: '--instance-var <name>',
    key: 'instanceVar',
    field: 'instanceVar',
    name: 'instance_var',
    read: asVariable,
    accepted: VARIABLE_FORMS,
    schema: { type: 'string' },
    default: 'NODE_APP_INSTANCE',
    help: 'variable that holds the number of the instance (default: NODE_APP_INSTANCE)',
  },
];

/**
 * @param {unknown} value
 * @param {string} where
 */
function asEnvFiles(value, where) {
  if (value === false || value === null) return [];
  const files = [value]
    .flat()
    .map((one) => (typeof one === 'string' ? readPath(one, where) : refuse(where, one, FILES_FORMS)));
  return files.length === 1 && files[0] === 'none' ? [] : files;
}

/**
 * An error does not show the value, because it may be the secret itself.
 * @param {unknown} value
 * @param {string} where
 */
function asSecrets(value, where) {
  if (value === false || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw badKind(where, value, SECRETS_FORMS);
  return Object.fromEntries(
    Object.entries(value).map(([name, source]) => [asVariable(name, where), asSource(source, `${where}.${name}`)]),
  );
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asSource(value, where) {
  const source = typeof value === 'string' ? { file: value } : value;
  const [[key, text], ...others] =
    typeof source === 'object' && source !== null && Object.keys(source).length > 0
      ? Object.entries(source)
      : [['', '']];
  if (!['file', 'command'].includes(key) || others.length > 0)
    throw badKind(where, value, `the path of a file, ${SECRET_FORMS}`);
  if (typeof text !== 'string' || text.trim() === '')
    throw badKind(`${where}.${key}`, text, 'a text that is not empty');
  return { [key]: key === 'file' ? expandHome(text) : text };
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asFilter(value, where) {
  if (typeof value === 'boolean') return value;
  if (value === null) return false;
  if (isVariableName(value)) return value;
  if (Array.isArray(value) && value.every(isVariableName)) return value;
  throw badOption(where, value, FILTER_FORMS);
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asVariableOrNone(value, where) {
  return value === null || value === false || value === 'none' ? null : asVariable(value, where);
}

/**
 * @param {unknown} value
 * @param {string} where
 */
function asVariable(value, where) {
  return isVariableName(value) ? value : refuse(where, value, VARIABLE_FORMS);
}

/**
 * @param {string} where
 * @param {unknown} value
 * @param {string} accepted
 * @returns {never}
 */
function refuse(where, value, accepted) {
  throw badOption(where, value, accepted);
}
