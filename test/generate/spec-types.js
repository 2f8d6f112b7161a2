import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { FIELDS } from '../../lib/app-spec/table.js';
import { commentLines } from './comment-lines.js';

const HEAD = `// Made from the table by test/generate/write.js; a test compares.

/**
 * Facts about the git checkout of the app. Control asks git each time a request starts, restarts or
 * reloads the app. The properties have PM2's names.
 */
export interface Versioning {
  type: 'git';
  /** Without password and token. */
  url: string | null;
  revision: string | null;
  /** Message of the commit. */
  comment: string | null;
  /** Whether tracked files had been changed. Null: git was too slow. */
  unstaged: boolean | null;
  branch: string;
  remotes: string[];
  remote: string | null;
  branch_exists_on_remote: boolean;
  ahead: boolean;
  next_rev: null;
  prev_rev: null;
  update_time: string;
  repo_path: string;
}

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
