import { isFilled, isText, orNull, texts } from './rules.js';

/**
 * What the variables of an app are made of, besides what it declares (`env`) and the shell it was started from (`shellEnv`). shared-environment.js puts them together.
 * @typedef {object} EnvironmentSpec
 * @property {Record<string, string>} interpreterEnv  What its interpreter is given unless the shell says otherwise.
 * @property {Record<string, string>} ownerEnv  Of the user it runs as, where that is another one than the shell's: HOME, USER, LOGNAME.
 * @property {string[]} envFiles  As the user wrote them, the last one wins. A relative path counts from `cwd`.
 * @property {FileEnv[]} fileEnv  What they held when the generation began. Read by control.
 * @property {Record<string, SecretSource>} secrets  Where the values of variables are had from that are written down nowhere.
 * @property {string|null} incrementVar  The variable to whose value the slot is added.
 * @property {boolean|string|string[]} filterEnv  What of the shell is left out. true: all of it. A text: that variable. A list: those whose names contain one of these.
 * @property {string|null} envName  The environment of its config file that was chosen (`env_<name>`).
 */

/** @typedef {{file: string, env: Record<string, string>}} FileEnv  The path is absolute. */

/** @typedef {{file: string} | {command: string}} SecretSource */

export const SECRET_FORMS = '{ "file": "<path>" } or { "command": "<shell command>" }';
export const FILTER_FORMS = 'true for nothing of the shell, the name of a variable, or a list of texts that names contain';

/** @type {{[K in keyof EnvironmentSpec]: import('./rules.js').Rule}} */
export const ENVIRONMENT_RULES = {
  interpreterEnv: { accepts: areVariables, accepted: 'an object of texts whose keys hold no "="', fallback: {} },
  ownerEnv: { accepts: areVariables, accepted: 'an object of texts whose keys hold no "="', fallback: {} },
  envFiles: { ...texts(), accepts: (value) => Array.isArray(value) && value.every(isFilled), accepted: 'a list of paths' },
  fileEnv: { accepts: areFileEnvs, accepted: 'a list of { "file", "env" }', fallback: [] },
  secrets: { accepts: areSecrets, accepted: `an object whose values are ${SECRET_FORMS}`, fallback: {} },
  incrementVar: orNull({ accepts: isVariableName, accepted: 'the name of a variable' }, 'none'),
  filterEnv: { accepts: isFilter, accepted: `${FILTER_FORMS}, or false`, fallback: false },
  envName: orNull({ accepts: isFilled, accepted: 'a text' }, 'none'),
};

/** @param {unknown} value */
export function areVariables(value) {
  return isRecord(value) && Object.entries(value).every(([key, text]) => isText(text) && isText(key) && key !== '' && !key.includes('='));
}

/**
 * @param {unknown} value
 * @returns {value is string}
 */
export function isVariableName(value) {
  return isFilled(value) && !value.includes('=');
}

/** @param {unknown} value */
function isFilter(value) {
  return typeof value === 'boolean' || isVariableName(value) || (Array.isArray(value) && value.every(isVariableName));
}

/** @param {unknown} value */
function areFileEnvs(value) {
  return Array.isArray(value) && value.every((one) => isRecord(one) && isFilled(one.file) && areVariables(one.env));
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

/**
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
function isRecord(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
