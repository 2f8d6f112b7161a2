import { homedir } from 'node:os';
import { join } from 'node:path';
import { NclustError } from '../shared/errors.js';

/** Values for readText() and readPath(). */
export const TEXT_FORMS = 'a text that is not empty';

/**
 * @param {string} where  Option or key path.
 * @param {unknown} found
 * @param {string} accepted
 */
export function badOption(where, found, accepted) {
  return refusal(where, shown(found), accepted);
}

/**
 * Like badOption(), but shows only the type of the value, because it may be a secret.
 * @param {string} where
 * @param {unknown} found
 * @param {string} accepted
 */
export function badKind(where, found, accepted) {
  const kind = Array.isArray(found) ? 'a list' : found === null ? 'nothing' : WORD_OF[typeof found];
  return refusal(where, kind, accepted);
}

/**
 * A reader of values that refuses all others with the same words.
 * @template T
 * @param {string} accepted
 * @param {(value: unknown, where: string) => T | undefined} read  Undefined: refuse the value.
 * @returns {{ accepted: string, read: (value: unknown, where: string) => T }}
 */
export function reader(accepted, read) {
  return {
    accepted,
    read(value, where) {
      const found = read(value, where);
      if (found === undefined) throw badOption(where, value, accepted);
      return found;
    },
  };
}

/** @type {Record<string, string>} */
const WORD_OF = {
  string: 'a text',
  number: 'a number',
  bigint: 'a number',
  boolean: 'true or false',
  object: 'an object',
  function: 'a function',
  symbol: 'a symbol',
  undefined: 'nothing',
};

/**
 * @param {string} where
 * @param {string} found
 * @param {string} accepted
 */
function refusal(where, found, accepted) {
  return new NclustError('ERR_NCLUST_USAGE', `${where} is ${found}; accepted: ${accepted}.`, {
    data: { where, found, accepted },
  });
}

/** @param {unknown} value */
function shown(value) {
  // Does not use JSON for numbers, because JSON.stringify() turns NaN and Infinity into null.
  const text =
    typeof value === 'function'
      ? 'a function'
      : typeof value === 'number'
        ? String(value)
        : (JSON.stringify(value) ?? typeof value);
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
}

/**
 * @param {unknown} value
 * @param {string} where
 */
export function readText(value, where) {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || text.trim() === '') throw badOption(where, value, TEXT_FORMS);
  return text;
}

/**
 * Values that stand for "not set" in a config file, as in `cwd: process.env.APP_DIR || ''`.
 * @param {unknown} value
 */
export function isUnset(value) {
  return value === undefined || value === null || value === '' || value === false;
}

/**
 * Expands "~" also where no shell does: in a config file, in the library and in `--cwd=~/app`.
 * @param {string} path
 */
export function expandHome(path) {
  return /^~(\/|$)/.test(path) ? join(homedir(), path.slice(1)) : path;
}

/**
 * @param {unknown} value
 * @param {string} where
 */
export function readPath(value, where) {
  return expandHome(readText(value, where));
}

/**
 * Splits a line into words as a shell does, with quotes and backslashes, but without expansion.
 * @param {string} line
 * @param {string} keyPath
 * @returns {string[]}
 */
export function splitWords(line, keyPath) {
  /** @type {string[]} */
  const words = [];
  const piece = /\s+|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s'"\\]+)/gsy;
  let word = '';
  let isInWord = false;
  while (piece.lastIndex < line.length) {
    const match = piece.exec(line);
    if (!match)
      throw new NclustError(
        'ERR_NCLUST_USAGE',
        `${keyPath} is ${JSON.stringify(line)}; accepted: words whose quotes are closed.`,
      );
    const [all, single, double, escaped, plain] = match;
    if (/^\s/.test(all) && single === undefined && double === undefined && escaped === undefined) {
      if (isInWord) words.push(word);
      word = '';
      isInWord = false;
    } else {
      word += single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? plain;
      isInWord = true;
    }
  }
  return isInWord ? [...words, word] : words;
}
