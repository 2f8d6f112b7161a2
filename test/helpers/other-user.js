import { chmodSync, chownSync, lchownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export const NOBODY = { uid: 65534, gid: 65534 };

/** Some tests run only as root, because only root can give files to another user. */
export const isRoot = process.getuid?.() === 0;

export const SECRET = 'SECRET=only-for-root';

/**
 * Folders for an app of the user "nobody", who cannot change the folder that contains them.
 * @typedef {object} UserFolders
 * @property {string} own  Owned by "nobody".
 * @property {string} closed  Only for root. Contains the files "secret" (SECRET) and "number" (a
 *   pid), and the folder "empty".
 * @property {string} open  Only root may change it.
 * @property {(name: string, make: (path: string) => void) => string} plant  Makes a file in
 *   `own`, gives the file to "nobody" and returns its path.
 * @property {() => string[]} closedNames
 */

/** @returns {UserFolders} */
export function userFolders() {
  const top = mkdtempSync(join(tmpdir(), 'nclust-user-'));
  onTestFinished(() => rmSync(top, { recursive: true }));
  chmodSync(top, 0o755);
  const [own, closed, open] = ['own', 'closed', 'open'].map((name) => join(top, name));
  mkdirSync(own);
  chownSync(own, NOBODY.uid, NOBODY.gid);
  mkdirSync(closed, 0o700);
  mkdirSync(join(closed, 'empty'));
  mkdirSync(open, 0o755);
  writeFileSync(join(closed, 'secret'), `${SECRET}\n`, { mode: 0o600 });
  writeFileSync(join(closed, 'number'), '12345\n', { mode: 0o600 });
  return {
    own,
    closed,
    open,
    plant(name, make) {
      const path = join(own, name);
      make(path);
      lchownSync(path, NOBODY.uid, NOBODY.gid);
      return path;
    },
    closedNames: () => readdirSync(closed, { recursive: true }).map(String).sort(),
  };
}
