import { nearWords } from '../../shared/did-you-mean.js';
import { FOR_EDITORS, holds, isRecord, within } from '../config-shape.js';
import { faultAt, faultOf } from '../faults.js';
import { asEnvironment } from '../options/file-readers.js';
import { ATTRIBUTES, ENVIRONMENT_PREFIX, findAttribute, wordsFor } from '../options/schema.js';

/** @typedef {import('../faults.js').Fault} Fault */

/**
 * One app as its file describes it.
 * @typedef {object} Entry
 * @property {string} keyPath
 * @property {Record<string, any>} options  By the key of their row; absent ones are absent.
 * @property {Record<string, Record<string, string>>} environments  The variables of each `env_<name>`.
 * @property {Fault[]} faults
 * @property {string[]} warnings
 */

/** A suggestion is about as long as what was written, and this much of it. */
const SUGGESTION = { longerBy: 3, from: 4 };

/**
 * Reads every attribute, whatever is wrong with the others.
 * @param {unknown} entry
 * @param {string} keyPath
 * @returns {Entry}
 */
export function readEntry(entry, keyPath) {
  /** @type {Entry} */
  const read = { keyPath, options: {}, environments: {}, faults: [], warnings: [] };
  if (!isRecord(entry)) return { ...read, faults: [faultAt(keyPath, holds(entry), 'an object that describes an app')] };
  /** @type {Map<string, string>} */
  const said = new Map();
  for (const [word, value] of Object.entries(entry)) {
    if (value === undefined || value === null || word === FOR_EDITORS) continue;
    try {
      readOne(read, word, value, said);
    } catch (error) {
      read.faults.push(faultOf(error, within(keyPath, word)));
    }
  }
  if (read.options.script === undefined && !said.has('script')) read.faults.push(faultAt(within(keyPath, 'script'), 'is missing', 'a file, a program in PATH or a shell command'));
  return read;
}

/**
 * @param {Entry} read
 * @param {string} word
 * @param {unknown} value
 * @param {Map<string, string>} said  Attributes that have been read, and what they were called.
 */
function readOne(read, word, value, said) {
  const where = within(read.keyPath, word);
  const row = findAttribute(word);
  if (!row) {
    if (word.startsWith(ENVIRONMENT_PREFIX)) read.environments[word.slice(ENVIRONMENT_PREFIX.length)] = asEnvironment(value, where);
    else read.warnings.push(unknownKey(where, word));
    return;
  }
  const before = said.get(row.name);
  said.set(row.name, word);
  if (before !== undefined) read.warnings.push(`"${where}" is the same attribute as "${within(read.keyPath, before)}", and counts in its place.`);
  const found = row.read(value, where);
  if (row.note === undefined) read.options[row.key] = found;
}

/**
 * @param {string} where
 * @param {string} word
 */
function unknownKey(where, word) {
  const far = (/** @type {string} */ one) => Math.abs(one.length - word.length);
  const isLike = (/** @type {string} */ one) => one.includes('_') === word.includes('_');
  const [near] = nearWords(word, ATTRIBUTES.flatMap(wordsFor)).filter((one) => word.length >= SUGGESTION.from && far(one) <= SUGGESTION.longerBy).sort((a, b) => Number(isLike(b)) - Number(isLike(a)) || far(a) - far(b));
  return `"${where}" means nothing here${near ? `; did you mean "${near}"?` : '.'}`;
}
