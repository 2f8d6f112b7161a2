import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { FIELDS } from '../../lib/app-spec/table.js';
import { commentLines } from './comment-lines.js';

const HEAD = `// Made from the table by test/generate/write.js; a test compares.

/** An app as the manager stores it: every setting has a value. */
export interface AppSpec {`;

/** @returns {Promise<string>} */
export async function specTypes() {
  const text = [HEAD, ...Object.values(FIELDS).flatMap(linesForField), '}'].join('\n');
  return format(text, { ...(await resolveConfig(fileURLToPath(import.meta.url))), parser: 'typescript' });
}

export function linesForField({ field, meaning = '', note = '', type }) {
  return [...commentLines([meaning, note].filter((text) => text !== '')), `  ${field}: ${type};`];
}
