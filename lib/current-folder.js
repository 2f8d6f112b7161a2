import { statSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';

/**
 * The folder a command was typed in, by the name its user knows it by. The system knows it without links: who starts an app in /srv/app/current would
 * have it tied to the release that link leads to today, and no reload would ever run the next one. Shells keep the name in PWD, which counts as long as
 * it leads here (POSIX, `pwd -L`).
 * @param {string} cwd  As the system knows it.
 * @param {string|undefined} pwd
 * @returns {string}
 */
export function currentFolder(cwd, pwd) {
  if (pwd === undefined || !isAbsolute(pwd) || resolve(pwd) !== pwd || pwd === cwd) return cwd;
  const named = statSync(pwd, { throwIfNoEntry: false });
  const real = statSync(cwd, { throwIfNoEntry: false });
  return named && real && named.dev === real.dev && named.ino === real.ino ? pwd : cwd;
}
