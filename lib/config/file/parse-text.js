import { PACKAGE_KEYS } from '../find.js';
import { unreadable } from '../faults.js';

/**
 * @param {string} text
 * @param {string} file  For messages.
 * @returns {Promise<unknown>}  Rejects with ERR_NCLUST_BAD_CONFIG.
 */
export async function parseJson(text, file) {
  const content = withoutMark(text);
  const strict = strictJson(content);
  if (strict !== undefined) return strict;
  const { default: json5 } = await import('json5');
  try {
    return json5.parse(content);
  } catch (error) {
    const { message, lineNumber = null, columnNumber = null } = /** @type {SyntaxError & {lineNumber?: number, columnNumber?: number}} */ (error);
    throw unreadable(file, message.replace(/^JSON5: /, '').replace(/ at \d+:\d+$/, ''), { line: lineNumber, column: columnNumber, cause: error });
  }
}

/**
 * @param {string} text
 * @param {string} file
 * @returns {Promise<unknown>}  Rejects with ERR_NCLUST_BAD_CONFIG.
 */
export async function parseYaml(text, file) {
  const { parseDocument } = await import('yaml');
  const document = parseDocument(withoutMark(text), { merge: true, prettyErrors: true });
  const [error] = document.errors;
  if (error) throw unreadable(file, error.message.split(/ at line \d+/)[0], { line: error.linePos?.[0].line, column: error.linePos?.[0].col, cause: error });
  try {
    return document.toJS();
  } catch (cause) {
    throw unreadable(file, /** @type {Error} */ (cause).message, { cause });
  }
}

/**
 * What stands on stdin: JSON when it looks like it, else YAML.
 * @param {string} text
 * @param {string} file
 * @returns {Promise<unknown>}
 */
export async function parseEither(text, file) {
  const isJson = /^\s*(\/\/[^\n]*\n\s*|\/\*[^]*?\*\/\s*)*[{[]/.test(withoutMark(text));
  return isJson ? parseJson(text, file) : parseYaml(text, file);
}

/**
 * @param {unknown} content  Of a package.json.
 * @param {string} file
 * @returns {unknown}
 */
export function ofPackage(content, file) {
  const found = PACKAGE_KEYS.find((key) => /** @type {Record<string, unknown>|null} */ (content)?.[key] !== undefined);
  if (found === undefined) throw unreadable(file, `it has no key ${PACKAGE_KEYS.map((key) => `"${key}"`).join(' or ')}`, { hint: 'Write a file of its own with: nclust init' });
  return { [found]: /** @type {Record<string, unknown>} */ (content)[found] };
}

/**
 * What most files hold, which takes seconds less for one of megabytes than JSON5.
 * @param {string} text
 * @returns {unknown}  undefined: it is something else, or wrong.
 */
function strictJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The other parser says what is wrong, and where.
  }
}

/** @param {string} text  With or without a byte order mark. */
function withoutMark(text) {
  return text.replace(/^\uFEFF/, '');
}
