import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';

/**
 * @typedef {object} EvaluationError
 * @property {string} message
 * @property {number | null} line
 * @property {number | null} column
 * @property {string | null} hint
 */

/**
 * @param {unknown} error
 * @param {string} file
 * @returns {EvaluationError}
 */
export function describeError(error, file) {
  if (!(error instanceof Error))
    return {
      message: `it threw ${typeof error === 'string' ? error : inspect(error, { depth: 1, breakLength: Infinity })}`,
      line: null,
      column: null,
      hint: null,
    };
  const stack = error.stack ?? '';
  const { line, column } = placeIn(stack, file) ?? { line: null, column: null };
  const message = `${error.name}: ${error.message.split('\n')[0].replace(/[.:]+$/, '')}`;
  return { message, line, column, hint: findHint(error.message) };
}

/**
 * @param {string} stack  The stack of an error, or the output of `node --check`.
 * @param {string} file
 */
export function placeIn(stack, file) {
  const names = [pathToFileURL(file).href, file].map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const found = new RegExp(`(?:${names.join('|')})(?:\\?as=[a-z-]+)?:(\\d+)(?::(\\d+))?`).exec(stack);
  if (!found) return null;
  // For a syntax error, only the carets under the line show the column.
  const column = found[2] ?? /^( *)\^+\s*$/m.exec(stack)?.[1].concat('^').length ?? null;
  return { line: Number(found[1]), column: column === null ? null : Number(column) };
}

/** @param {string} message */
function findHint(message) {
  if (/is not defined in ES module scope/.test(message))
    return (
      'Its name or package.json makes it an ES module. To use require and module.exports, rename it so ' +
      'that it ends in .cjs.'
    );
  if (/Unexpected token 'export'|Cannot use import statement outside a module/.test(message))
    return 'Rename the file so that it ends in .mjs, or use "module.exports =".';
  return null;
}
