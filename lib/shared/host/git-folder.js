import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { readRegular } from './read-regular.js';

/** Of `packed-refs`, with the branches and tags of a large project, and of the other files. */
const PACKED_MAX_BYTES = 4 * 1024 * 1024;
const FILE_MAX_BYTES = 256 * 1024;

const REVISION = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;
const REF = /^refs\/(?!.*(?:^|\/)\.\.)\S+$/;

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
 * Whatever lies there, it is read within bounds, and the thread does not wait for it.
 * @param {string} root
 * @returns {Promise<GitFolder | null>}  Null when it is none, or cannot be read.
 */
export async function readGitFolder(root) {
  try {
    const own = await gitFolder(root);
    const shared = resolve(own, (await text(join(own, 'commondir'))) ?? '.');
    const head = await text(join(own, 'HEAD'));
    if (head === null) return null;
    const ref = /^ref: (.+)$/.exec(head)?.[1] ?? null;
    // What HEAD names is read: it must be a ref, and what is told of it a revision.
    if (!(ref === null ? REVISION : REF).test(ref ?? head)) return null;
    const branch = ref === null ? 'HEAD' : ref.replace(/^refs\/heads\//, '');
    const config = (await text(join(shared, 'config'))) ?? '';
    const remotes = [...config.matchAll(/^[ \t]*\[remote "(.+)"\]/gm)].map(([, name]) => name);
    const remote =
      valueOf(config, `branch "${branch}"`, 'remote') ?? (remotes.includes('origin') ? 'origin' : (remotes[0] ?? null));
    const url = remote === null ? null : valueOf(config, `remote "${remote}"`, 'url');
    const log = await stat(join(own, 'logs', 'HEAD')).catch(() => stat(join(own, 'HEAD')));
    return {
      root,
      branch,
      remotes,
      remote,
      revision: ref === null ? head : await revisionOf([own, shared], ref),
      url: url === null ? null : withoutCredentials(url),
      isOnRemote: remote !== null && (await revisionOf([shared], `refs/remotes/${remote}/${branch}`)) !== null,
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
async function gitFolder(root) {
  const path = join(root, '.git');
  if ((await stat(path)).isDirectory()) return path;
  return resolve(root, /^gitdir: (.+)$/.exec((await text(path)) ?? '')?.[1] ?? '.git');
}

/**
 * @param {string[]} folders
 * @param {string} ref
 */
async function revisionOf(folders, ref) {
  for (const folder of folders) {
    const loose = await text(join(folder, ref));
    if (loose !== null && REVISION.test(loose)) return loose;
    const lines = ((await text(join(folder, 'packed-refs'), PACKED_MAX_BYTES)) ?? '').split('\n');
    const packed = lines.find((line) => line.endsWith(` ${ref}`))?.split(' ')[0] ?? '';
    if (REVISION.test(packed)) return packed;
  }
  return null;
}

/**
 * @param {string} config
 * @param {string} section
 * @param {string} key
 */
function valueOf(config, section, key) {
  const lines = config.split('\n').map((line) => line.trim());
  const from = lines.findIndex((line) => line.startsWith(`[${section}]`));
  if (from === -1) return null;
  const length = lines.slice(from + 1).findIndex((line) => line.startsWith('['));
  const own = lines.slice(from + 1, length === -1 ? undefined : from + 1 + length);
  const values = own
    .filter((line) => line.startsWith(key) && line.slice(key.length).trim().startsWith('='))
    .map((line) => line.slice(line.indexOf('=') + 1).trim());
  return values.find((value) => value !== '') ?? null;
}

/**
 * @param {string} file
 * @param {number} [maxBytes]
 */
async function text(file, maxBytes = FILE_MAX_BYTES) {
  try {
    return (await readRegular(file, maxBytes)).toString('utf8').trimEnd();
  } catch {
    return null; // Not every checkout has it.
  }
}
