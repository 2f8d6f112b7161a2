import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/**
 * What lies in the folder of a git checkout, read without git.
 * @typedef {object} GitFolder
 * @property {string} root  Of the checkout.
 * @property {string} branch  "HEAD" where none is checked out.
 * @property {string | null} revision
 * @property {string[]} remotes
 * @property {string | null} remote  That of the branch, or the only one there is.
 * @property {string | null} url  Without user name, password and token.
 * @property {boolean} isOnRemote  Whether the remote has a branch of that name, as far as it was
 *   fetched.
 * @property {number} updatedAtMs  When something was last checked out, committed or pulled.
 */

/**
 * @param {string} folder  Absolute.
 * @returns {string | null}  The root of the checkout it lies in.
 */
export function checkoutOf(folder) {
  for (let at = folder; ; at = dirname(at)) {
    if (statSync(join(at, '.git'), { throwIfNoEntry: false })) return at;
    if (at === dirname(at)) return null;
  }
}

/**
 * @param {string} root
 * @returns {GitFolder | null}  Null when it is none, or cannot be read.
 */
export function readGitFolder(root) {
  try {
    const own = gitFolder(root);
    const shared = resolve(own, text(join(own, 'commondir')) ?? '.');
    const head = text(join(own, 'HEAD'));
    if (head === null) return null;
    const ref = /^ref: (.+)$/.exec(head)?.[1] ?? null;
    const branch = ref === null ? 'HEAD' : ref.replace(/^refs\/heads\//, '');
    const config = text(join(shared, 'config')) ?? '';
    const remotes = [...config.matchAll(/^\s*\[remote "(.+)"\]/gm)].map(([, name]) => name);
    const remote =
      valueOf(config, `branch "${branch}"`, 'remote') ?? (remotes.includes('origin') ? 'origin' : (remotes[0] ?? null));
    const url = remote === null ? null : valueOf(config, `remote "${remote}"`, 'url');
    const log = statSync(join(own, 'logs', 'HEAD'), { throwIfNoEntry: false }) ?? statSync(join(own, 'HEAD'));
    return {
      root,
      branch,
      remotes,
      remote,
      revision: ref === null ? head : revisionOf([own, shared], ref),
      url: url === null ? null : withoutCredentials(url),
      isOnRemote: remote !== null && revisionOf([shared], `refs/remotes/${remote}/${branch}`) !== null,
      updatedAtMs: Math.round(log.mtimeMs),
    };
  } catch {
    return null; // It only decorates the list.
  }
}

/**
 * @param {string} url
 * @returns {string}
 */
export function withoutCredentials(url) {
  // An address of ssh needs its user name.
  return url
    .replace(/^(https?:\/\/)[^/]*@/i, '$1')
    .replace(/^([a-z][a-z0-9+.-]*:\/\/[^/:@]*):[^/]*@/i, '$1@')
    .replace(/^(https?:[^?#]*)[?#].*$/i, '$1');
}

/**
 * Of a worktree or a submodule it is a file that says where.
 * @param {string} root
 */
function gitFolder(root) {
  const path = join(root, '.git');
  if (statSync(path).isDirectory()) return path;
  return resolve(root, /^gitdir: (.+)$/.exec(text(path) ?? '')?.[1] ?? '.git');
}

/**
 * @param {string[]} folders
 * @param {string} ref
 */
function revisionOf(folders, ref) {
  for (const folder of folders) {
    const loose = text(join(folder, ref));
    if (loose !== null) return loose;
    const packed = (text(join(folder, 'packed-refs')) ?? '').split('\n').find((line) => line.endsWith(` ${ref}`));
    if (packed) return packed.split(' ')[0];
  }
  return null;
}

/**
 * @param {string} config
 * @param {string} section
 * @param {string} key
 */
function valueOf(config, section, key) {
  const [, own = ''] = config.split(new RegExp(`^\\s*\\[${section.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}\\].*$`, 'm'));
  return new RegExp(`^\\s*${key}\\s*=\\s*(.+?)\\s*$`, 'm').exec(own.split(/^\s*\[/m)[0])?.[1] ?? null;
}

/** @param {string} file */
function text(file) {
  try {
    return readFileSync(file, 'utf8').trimEnd();
  } catch {
    return null; // Not every checkout has it.
  }
}
