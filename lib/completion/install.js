import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SCRIPTS } from './scripts.js';

/** @typedef {import('./scripts.js').Shell} Shell */

const BEGIN = '# >>> nclust completion >>>';
const END = '# <<< nclust completion <<<';
const BLOCK = new RegExp(`\\n?${BEGIN}\\n[\\s\\S]*?${END}\\n`, 'g');

/**
 * Where a shell looks for what completes a command: a file of ours for fish, a block in the start file of the others.
 * @param {Shell} shell
 * @param {Record<string, string|undefined>} env
 * @returns {string}
 */
export function placeOf(shell, { HOME = '', ZDOTDIR, XDG_CONFIG_HOME }) {
  if (shell === 'fish') return join(XDG_CONFIG_HOME || join(HOME, '.config'), 'fish/completions/nclust.fish');
  return shell === 'zsh' ? join(ZDOTDIR || HOME, '.zshrc') : join(HOME, '.bashrc');
}

/**
 * Done again, it changes nothing but an older form of itself.
 * @param {Shell} shell
 * @param {string} file
 * Throws what the file system says.
 */
export function install(shell, file) {
  mkdirSync(dirname(file), { recursive: true });
  if (shell === 'fish') return replace(file, SCRIPTS.fish);
  replace(file, `${without(read(file))}\n${BEGIN}\n${SCRIPTS[shell]}${END}\n`);
}

/**
 * @param {Shell} shell
 * @param {string} file
 * @returns {boolean}  Whether it was there. Throws what the file system says.
 */
export function uninstall(shell, file) {
  const text = read(file);
  if (shell === 'fish') {
    rmSync(file, { force: true });
    return text !== '';
  }
  if (without(text) === text) return false;
  replace(file, without(text));
  return true;
}

/** @param {string} text */
function without(text) {
  return text.replace(BLOCK, '');
}

/** @param {string} file */
function read(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

/**
 * Atomically, with the rights it had; a start file is often a link into a folder of dotfiles.
 * @param {string} file
 * @param {string} text
 */
function replace(file, text) {
  const real = existsSync(file) ? realpathSync(file) : file;
  const temp = `${real}.nclust-new`;
  writeFileSync(temp, text, { mode: existsSync(real) ? statSync(real).mode & 0o777 : 0o644 });
  renameSync(temp, real);
}
