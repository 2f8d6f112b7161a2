import { readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SPECIFIER =
  /\bfrom\s+'([^']+)'|\bimport\s+'([^']+)'|\bimport\(\s*'([^']+)'|\brequire(?:OnDemand)?\(\s*'([^']+)'/g;

/**
 * @typedef {object} SourceFile
 * @property {string} path  From the root of the project.
 * @property {string} text
 * @property {string} code  The text without comments.
 */

/**
 * @param {...string} folders
 * @returns {SourceFile[]}
 */
export function sourceFiles(...folders) {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /^\.[cm]?js$/.test(extname(entry.name)))
      .map((entry) => join(entry.parentPath, entry.name))
      .map((file) => ({ path: relative(ROOT, file), text: readFileSync(file, 'utf8') }))
      .map((file) => ({ ...file, code: withoutComments(file.text) })),
  );
}

/**
 * @param {SourceFile} file
 * @returns {string[]}  The imports of the file: paths from the root of the project for our own
 *   files, names for packages and modules of Node.js.
 */
export function importsOf({ path, code }) {
  return [...code.matchAll(SPECIFIER)]
    .map((match) => /** @type {string} */ (match.slice(1).find(Boolean)))
    .map((name) => (name.startsWith('.') ? relative(ROOT, resolve(ROOT, dirname(path), name)) : name));
}

const COMMENT = /^\s*\/\*[\s\S]*?\*\/|^(?:[ \t]*\/\/.*\n?)+/gm;
const STRING = /(['`])((?:\\.|(?!\1)[^\\\n])*)\1/g;
const TITLE = /\b(?:test|it|describe)(?:\.\w+(?:\([^()]*\))?)*\(\s*(['`])((?:\\.|(?!\1)[^\\\n])*)\1/g;

/**
 * Also removes imports of types, which are in comments, because a type is not a dependency.
 * @param {string} text
 */
export function withoutComments(text) {
  return text.replace(COMMENT, '');
}

/**
 * @param {string} text
 * @returns {string[]}
 */
export function commentsOf(text) {
  return text.match(COMMENT) ?? [];
}

/**
 * @param {string} code  Without comments.
 * @returns {string[]}  Strings of one line that contain a space. X replaces inserted values.
 */
export function textsOf(code) {
  return [...code.matchAll(STRING)].map(([, , text]) => plain(text)).filter((text) => text.includes(' '));
}

/**
 * @param {string} code  Of a test file, without comments.
 * @returns {string[]}
 */
export function titlesOf(code) {
  return [...code.matchAll(TITLE)].map(([, , text]) => plain(text));
}

/** @param {string} text */
function plain(text) {
  return text.replace(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, 'X').replace(/\\(.)/g, '$1');
}
