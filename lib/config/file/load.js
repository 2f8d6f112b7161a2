import { readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { tryTo } from '../../shared/daemon/files.js';
import { NclustError } from '../../shared/errors.js';
import { toPlain } from '../evaluation/plain.js';
import { unreadableError } from '../faults.js';
import { PACKAGE_KEYS } from '../find.js';
import { evaluate } from './evaluate.js';

/** @import { Oddity } from '../evaluation/plain.js' */
/** @import { Patience } from './evaluate.js' */

/**
 * @typedef {{ value: unknown, oddities: Oddity[], isFunction: boolean }} Loaded  isFunction: the
 *   file exports a function, which was called with the chosen environment.
 */

export const STDIN = '-';

/**
 * @param {string} file  Absolute, or "-".
 * @param {object} o
 * @param {string | null} o.env
 * @param {string} o.version
 * @param {() => Promise<string>} o.stdin
 * @param {() => Patience & { printMessage: (sentence: string) => void }} o.patience  Only for code.
 * @returns {Promise<Loaded>}  Rejects with ERR_NCLUST_BAD_CONFIG, ERR_NCLUST_CONFIG_NOT_FOUND, or
 *   the error of `patience`.
 */
export async function loadConfig(file, { env, version, stdin, patience }) {
  if (file === STDIN) return plain(await parseEither(await stdin(), 'stdin'));
  if (/\.[cm]?[jt]s$/.test(file)) {
    await toText(file); // Rejects if the file is missing or unreadable.
    return evaluate(file, { env, version, patience: patience() });
  }
  const text = await toText(file);
  if (/^\.ya?ml$/.test(extname(file))) return plain(await parseYaml(text, file));
  const content = await parseJson(text, file);
  return plain(basename(file) === 'package.json' ? ofPackage(content, file) : content);
}

/**
 * @param {unknown} value
 * @returns {Loaded}
 */
function plain(value) {
  // toPlain() is needed because YAML may contain bytes, sets, and aliases that form a cycle.
  return { ...toPlain(value), isFunction: false };
}

/** @param {string} file */
async function toText(file) {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (cause);
    if (code === 'ENOENT')
      throw new NclustError('ERR_NCLUST_CONFIG_NOT_FOUND', `There is no file "${file}".`, {
        hint: 'Check the path; "nclust init" writes a config file.',
        cause,
      });
    throw unreadableError(file, code === 'EISDIR' ? 'it is a folder' : String(code), { cause });
  }
}

/**
 * @param {string} text
 * @param {string} file
 * @returns {Promise<unknown>}
 */
async function parseJson(text, file) {
  const content = withoutMark(text);
  // Strict JSON first, because the JSON5 parser needs seconds for a file of several megabytes.
  const strict = tryTo(() => JSON.parse(content), undefined);
  if (strict !== undefined) return strict;
  const { default: json5 } = await import('json5');
  try {
    return json5.parse(content);
  } catch (error) {
    const {
      message,
      lineNumber = null,
      columnNumber = null,
    } = /** @type {SyntaxError & { lineNumber?: number, columnNumber?: number }} */ (error);
    throw unreadableError(file, message.replace(/^JSON5: /, '').replace(/ at \d+:\d+$/, ''), {
      line: lineNumber,
      column: columnNumber,
      cause: error,
    });
  }
}

/**
 * @param {string} text
 * @param {string} file
 * @returns {Promise<unknown>}
 */
async function parseYaml(text, file) {
  const { parseDocument } = await import('yaml');
  const document = parseDocument(withoutMark(text), { merge: true, prettyErrors: true });
  const [error] = document.errors;
  if (error)
    throw unreadableError(file, error.message.split(/ at line \d+/)[0], {
      line: error.linePos?.[0].line,
      column: error.linePos?.[0].col,
      cause: error,
    });
  try {
    return document.toJS();
  } catch (cause) {
    throw unreadableError(file, /** @type {Error} */ (cause).message, { cause });
  }
}

/**
 * Parses stdin: JSON if it begins with a bracket (after comments), otherwise YAML.
 * @param {string} text
 * @param {string} file
 */
async function parseEither(text, file) {
  const isJson = /^\s*(\/\/[^\n]*\n\s*|\/\*[^]*?\*\/\s*)*[{[]/.test(withoutMark(text));
  return isJson ? parseJson(text, file) : parseYaml(text, file);
}

/**
 * @param {unknown} content
 * @param {string} file
 * @returns {unknown}
 */
function ofPackage(content, file) {
  const found = PACKAGE_KEYS.find(
    (key) => /** @type {Record<string, unknown> | null} */ (content)?.[key] !== undefined,
  );
  if (found === undefined)
    throw unreadableError(file, `it has no key ${PACKAGE_KEYS.map((key) => `"${key}"`).join(' or ')}`, {
      hint: 'Write a separate config file with: nclust init',
    });
  return { [found]: /** @type {Record<string, unknown>} */ (content)[found] };
}

/** @param {string} text */
function withoutMark(text) {
  return text.replace(/^\uFEFF/, '');
}
