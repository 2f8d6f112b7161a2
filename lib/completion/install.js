import {
  closeSync,
  existsSync,
  fchownSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { explainUnwritable } from '../cli/session/user-file.js';
import { NclustError } from '../shared/errors.js';
import { removeAsUser } from '../shared/host/as-user.js';
import { findReplaceable } from '../shared/host/replace-file.js';
import { runAsOwner } from '../shared/host/run-as-owner.js';
import { SCRIPTS } from './scripts.js';

/** @import { Shell } from './scripts.js' */

const BEGIN = '# >>> nclust completion >>>';
const END = '# <<< nclust completion <<<';
const BLOCK = new RegExp(`\\n?${BEGIN}\\n[\\s\\S]*?${END}\\n`, 'g');

/**
 * fish gets a separate file. Other shells get a block in their start file.
 * @param {Shell} shell
 * @param {Record<string, string | undefined>} env
 * @returns {string}
 */
export function findPlace(shell, { HOME = '', ZDOTDIR, XDG_CONFIG_HOME }) {
  if (HOME === '')
    throw new NclustError(
      'ERR_NCLUST_USAGE',
      'HOME is not set in this shell; accepted: the folder with your start files.',
    );
  if (shell === 'fish') return join(XDG_CONFIG_HOME || join(HOME, '.config'), 'fish/completions/nclust.fish');
  return shell === 'zsh' ? join(ZDOTDIR || HOME, '.zshrc') : join(HOME, '.bashrc');
}

/**
 * Root may have the HOME of another user (sudo -E), who can put links there.
 * @template T
 * @param {string} home
 * @param {() => T} work
 */
export function asOwnerOf(home, work) {
  const owner = statSync(home, { throwIfNoEntry: false });
  return owner ? runAsOwner(owner, work) : work();
}

/**
 * @param {Shell} shell
 * @param {string} file
 */
export function install(shell, file) {
  explainUnwritable(file, () => {
    mkdirSync(dirname(file), { recursive: true });
    replace(file, shell === 'fish' ? SCRIPTS.fish : `${without(read(file))}\n${BEGIN}\n${SCRIPTS[shell]}${END}\n`);
  });
}

/**
 * @param {Shell} shell
 * @param {string} file
 * @returns {boolean}  Whether the completion was installed.
 */
export function uninstall(shell, file) {
  return explainUnwritable(file, () => {
    const text = read(file);
    const rest = shell === 'fish' ? '' : without(text);
    if (rest === text) return false;
    if (shell === 'fish') removeAsUser(null, file);
    else replace(file, rest);
    return true;
  });
}

/** @param {string} text */
function without(text) {
  return text.replace(BLOCK, '');
}

/** @param {string} link */
function read(link) {
  const file = findReplaceable(link); // Reading a named pipe would never end.
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

/**
 * Replaces a file atomically. Keeps mode and owner. Follows links, because a start file is often a
 * link to a dotfile elsewhere.
 * @param {string} file
 * @param {string} text
 */
function replace(file, text) {
  const real = findReplaceable(file);
  const before = statSync(real, { throwIfNoEntry: false });
  const temp = `${real}.nclust-new`;
  rmSync(temp, { force: true });
  const fd = openSync(temp, 'wx', before ? before.mode & 0o777 : 0o644);
  try {
    writeFileSync(fd, text);
    if (before && before.uid !== process.geteuid?.()) fchownSync(fd, before.uid, before.gid);
    renameSync(temp, real);
  } finally {
    closeSync(fd);
    rmSync(temp, { force: true });
  }
}
