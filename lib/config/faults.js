import { NclustError } from '../shared/errors.js';

/**
 * One thing that is wrong with a config file.
 * @typedef {object} Fault
 * @property {string} keyPath  "apps[1].max_memory_restart"; empty for the file as a whole.
 * @property {string} found
 * @property {string} accepted
 * @property {string} message  A sentence.
 * @property {string|null} [hint]
 */

/**
 * @param {string} keyPath
 * @param {string} found
 * @param {string} accepted
 * @returns {Fault}
 */
export function faultAt(keyPath, found, accepted) {
  return { keyPath, found, accepted, message: `${keyPath === '' ? 'The file' : keyPath} ${found}; accepted: ${accepted}.` };
}

/**
 * What a reader of values or of programs has thrown.
 * @param {unknown} error
 * @param {string} keyPath  Where it belongs when the error does not say.
 * @returns {Fault}  Throws what is no refusal.
 */
export function faultOf(error, keyPath) {
  if (!(error instanceof NclustError) || error.code === 'ERR_NCLUST_INTERNAL') throw error;
  const { where, keyPath: own, found = '', accepted = '' } = /** @type {Record<string, string>} */ (error.data ?? {});
  const at = where ?? own ?? keyPath;
  const message = error.message.includes(at) ? error.message : `${at}: ${error.message}`;
  return { keyPath: at, found, accepted, message, ...(error.hint ? { hint: error.hint } : {}) };
}

/**
 * Everything that is wrong with a file, as one error.
 * @param {string} file
 * @param {Fault[]} faults
 * @param {string[]} warnings  Which may say why: a misspelt key is one that is missing.
 * @returns {NclustError}
 */
export function badConfig(file, faults, warnings) {
  const count = faults.length === 1 ? 'a fault' : `${faults.length} faults`;
  return new NclustError('ERR_NCLUST_BAD_CONFIG', `"${file}" has ${count}:\n${[...faults.map(({ message }) => message), ...warnings].map((line) => `  ${line}`).join('\n')}`, {
    hint: (faults.length === 1 && faults[0].hint) || 'docs/config.md has every attribute; "nclust validate" looks at the file and starts nothing.',
    data: { file, faults, warnings },
  });
}

/**
 * The file could not be read as what it should be.
 * @param {string} file
 * @param {string} why  A clause.
 * @param {object} [o]
 * @param {number|null} [o.line]
 * @param {number|null} [o.column]
 * @param {string|null} [o.hint]
 * @param {unknown} [o.cause]
 * @returns {NclustError}
 */
export function unreadable(file, why, { line = null, column = null, hint = null, cause } = {}) {
  const at = line === null ? '' : ` (line ${line}${column === null ? '' : `, column ${column}`})`;
  const fault = { keyPath: '', found: why, accepted: 'a config file', line, column, message: `${why}${at}.` };
  return new NclustError('ERR_NCLUST_BAD_CONFIG', `"${file}" cannot be read: ${why}${at}.`, { hint, data: { file, faults: [fault] }, cause });
}
