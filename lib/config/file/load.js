import { readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { NclustError } from '../../shared/errors.js';
import { asPlain } from '../evaluation/plain.js';
import { unreadable } from '../faults.js';
import { evaluate } from './evaluate.js';
import { ofPackage, parseEither, parseJson, parseYaml } from './parse-text.js';

/** @typedef {{value: unknown, oddities: import('../evaluation/plain.js').Oddity[], isFunction: boolean}} Loaded  isFunction: it was told the chosen environment. */

/** The file that is no file: what another program writes into the command. */
export const STDIN = '-';

/**
 * What a config file holds, before anybody has looked at it.
 * @param {string} file  Absolute, or "-".
 * @param {object} o
 * @param {string|null} o.env
 * @param {string} o.version  Of the Node.js that runs this command.
 * @param {() => Promise<string>} o.stdin
 * @param {() => import('./evaluation-limit.js').Patience & {talk: (sentence: string) => void}} o.patience  With one that is a program. Throws ERR_NCLUST_USAGE.
 * @returns {Promise<Loaded>}  Rejects with ERR_NCLUST_BAD_CONFIG, and ERR_NCLUST_CONFIG_NOT_FOUND.
 */
export async function loadConfig(file, { env, version, stdin, patience }) {
  if (file === STDIN) return plain(await parseEither(await stdin(), 'stdin'));
  if (/\.[cm]?[jt]s$/.test(file)) {
    await textOf(file); // For an error that says so when it is missing.
    return evaluate(file, { env, version, patience: patience() });
  }
  const text = await textOf(file);
  if (/^\.ya?ml$/.test(extname(file))) return plain(await parseYaml(text, file));
  const content = await parseJson(text, file);
  return plain(basename(file) === 'package.json' ? ofPackage(content, file) : content);
}

/** @param {unknown} value @returns {Loaded} */
function plain(value) {
  // YAML has names for parts of itself, and bytes and sets.
  return { ...asPlain(value), isFunction: false };
}

/** @param {string} file */
async function textOf(file) {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (cause);
    if (code === 'ENOENT') throw new NclustError('ERR_NCLUST_CONFIG_NOT_FOUND', `There is no file "${file}".`, { hint: 'Check the path; "nclust init" writes a config file.', cause });
    throw unreadable(file, code === 'EISDIR' ? 'it is a folder' : String(code), { cause });
  }
}
