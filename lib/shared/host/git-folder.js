import { lstatSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { chooseActor, statAsUser } from './as-user.js';
import { readRegular, Unfit } from './read-regular.js';
import { systemError } from './user-path.js';

/** @import { Stats } from 'node:fs' */
/** @import { User } from './user-path.js' */

const PACKED_MAX_BYTES = 4 * 1024 * 1024;
const CONFIG_MAX_BYTES = 1024 * 1024;
const LINE_MAX_BYTES = 8 * 1024;
const NAME_MAX_CHARS = 255;
const URL_MAX_CHARS = 2_000;
const REMOTES_MAX = 64;

const REVISION = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;
/** No part begins with "..", so the ref stays in the folder. */
const REF = /^refs\/(?!(?:.*\/)?\.\.)\S+$/;

/**
 * Facts about a git checkout, read without git.
 * @typedef {object} GitFolder
 * @property {string} root
 * @property {string} branch  "HEAD" if no branch is checked out.
 * @property {string | null} revision
 * @property {string[]} remotes
 * @property {string | null} remote  The remote of the branch, else "origin", else the first one.
 * @property {string | null} url  Without password and token.
 * @property {boolean} isOnRemote  Whether the remote had the branch at the last fetch.
 * @property {number} updatedAtMs  Time of the last checkout, commit or pull.
 */

/**
 * @param {string} folder
 * @returns {string | null}
 */
export function findCheckout(folder) {
  for (let at = folder; ; at = dirname(at)) {
    if (lstatSync(join(at, '.git'), { throwIfNoEntry: false })) return at;
    if (at === dirname(at)) return null;
  }
}

/**
 * @param {string} root
 * @param {User | null} user  Null: the rights of this process.
 * @returns {Promise<GitFolder | null>}  Null if `root` is not a checkout, if HEAD cannot be read or
 *   is invalid, or if a function of Reader rejects.
 */
export async function readGitFolder(root, user) {
  const { stat, text, line, bytes, pathIn } = createReader(user);
  try {
    const own = await gitFolder(root, { stat, pathIn });
    const shared = (await pathIn(join(own, 'commondir'), /^(.+)$/)) ?? own;
    const head = await line(join(own, 'HEAD'));
    if (head === null) return null;
    const ref = refIn(head);
    const branch = ref === null ? 'HEAD' : ref.replace(/^refs\/heads\//, '');
    // Refuses an invalid HEAD, because HEAD names a file that nclust reads and then shows.
    if (!(ref === null ? REVISION : REF).test(ref ?? head) || !isName(branch)) return null;
    const config = linesOf(await text(join(shared, 'config'), CONFIG_MAX_BYTES));
    const remotes = config.flatMap((one) => /^\[remote "(.+)"\]/.exec(one)?.[1] ?? []).filter(isName);
    const wanted = valueOf(config, `branch "${branch}"`, 'remote');
    const remote =
      wanted !== null && isName(wanted) ? wanted : remotes.includes('origin') ? 'origin' : (remotes[0] ?? null);
    const url = remote === null ? null : valueOf(config, `remote "${remote}"`, 'url');
    const log = (await stat(join(own, 'logs', 'HEAD'))) ?? (await stat(join(own, 'HEAD')));
    const refs = createRefs([...new Set([own, shared])], { line, bytes });
    return {
      root,
      branch,
      remotes: remotes.slice(0, REMOTES_MAX),
      remote,
      revision: ref === null ? head : await refs.revisionOf(ref),
      url: url === null || url.length > URL_MAX_CHARS || hasControls(url) ? null : stripCredentials(url),
      isOnRemote: remote !== null && (await refs.revisionOf(`refs/remotes/${remote}/${branch}`)) !== null,
      // On a tmpfs, the time may be outside the range of a Date, and getTime() returns NaN.
      updatedAtMs: new Date(log?.mtimeMs ?? 0).getTime() || 0,
    };
  } catch {
    return null;
  }
}

/** @param {string} url */
export function stripCredentials(url) {
  // Keeps the user name of an SSH address, because SSH needs the name.
  return url
    .replace(/^(https?:\/\/)[^/]*@/i, '$1')
    .replace(/^([a-z][a-z0-9+.-]*:\/\/[^/:@]*):[^/]*@/i, '$1@')
    .replace(/^(https?:[^?#]*)[?#].*$/i, '$1');
}

/**
 * In a worktree or a submodule, ".git" is a file that contains the path of the git folder.
 * @param {string} root
 * @param {Pick<Reader, 'stat' | 'pathIn'>} reader
 */
async function gitFolder(root, { stat, pathIn }) {
  const path = join(root, '.git');
  if ((await stat(path))?.isDirectory()) return path;
  return (await pathIn(path, /^gitdir: (.+)$/)) ?? path;
}

/**
 * @param {string[]} folders  Git folders to search, in this order. Reads each packed-refs once.
 * @param {Pick<Reader, 'line' | 'bytes'>} reader
 */
function createRefs(folders, { line, bytes }) {
  /** @type {Map<string, Promise<Buffer | null>>} */
  const packed = new Map();

  /**
   * @param {string} folder
   * @param {string} ref
   */
  async function packedRevision(folder, ref) {
    if (!packed.has(folder)) packed.set(folder, bytes(join(folder, 'packed-refs'), PACKED_MAX_BYTES));
    const all = await packed.get(folder);
    const at = all?.indexOf(` ${ref}\n`) ?? -1;
    if (!all || at === -1) return null;
    return revisionIn(all.toString('latin1', all.lastIndexOf('\n', at) + 1, at));
  }

  /**
   * @param {string} ref
   * @param {boolean} [isLed]  Whether another ref has named this ref, as HEAD of a remote does. If
   *   so, this ref must not name a third ref.
   * @returns {Promise<string | null>}  Null: the ref is invalid, or its revision is not found.
   */
  async function revisionOf(ref, isLed = false) {
    if (!REF.test(ref)) return null;
    for (const folder of folders) {
      const loose = (await line(join(folder, ref))) ?? '';
      const next = isLed ? null : refIn(loose);
      const revision =
        next === null ? (revisionIn(loose) ?? (await packedRevision(folder, ref))) : await revisionOf(next, true);
      if (revision !== null) return revision;
    }
    return null;
  }

  return { revisionOf };
}

/** @param {string} line */
function refIn(line) {
  return /^ref: (.+)$/.exec(line)?.[1] ?? null;
}

/** @param {string} line */
function revisionIn(line) {
  return REVISION.test(line) ? line : null;
}

/** @param {string} value */
function isName(value) {
  return value.length <= NAME_MAX_CHARS && !hasControls(value);
}

/** @param {string} value */
function hasControls(value) {
  return /\p{Cc}/u.test(value);
}

/**
 * @param {string[]} config
 * @param {string} section
 * @param {string} key
 */
function valueOf(config, section, key) {
  const from = config.findIndex((line) => line.startsWith(`[${section}]`));
  if (from === -1) return null;
  for (const line of config.slice(from + 1)) {
    if (line.startsWith('[')) return null;
    const rest = line.startsWith(key) ? line.slice(key.length).trimStart() : '';
    if (rest.startsWith('=') && rest.length > 1) return rest.slice(1).trim();
  }
  return null;
}

/** @param {string | null} config */
function linesOf(config) {
  return (config ?? '').split('\n').map((line) => line.trim());
}

/**
 * The functions resolve with null if a file is missing, cannot be read or does not match `pattern`.
 * All functions except `stat` reject if a file is too large.
 * @typedef {object} Reader
 * @property {(path: string) => Promise<Stats | null>} stat
 * @property {(file: string) => Promise<string | null>} line
 * @property {(file: string, maxBytes: number) => Promise<string | null>} text
 * @property {(file: string, maxBytes: number) => Promise<Buffer | null>} bytes
 * @property {(file: string, pattern: RegExp) => Promise<string | null>} pathIn  Also rejects if the
 *   user can change the file but not the folder that the file names, because root would read this
 *   folder.
 */

/**
 * @param {User | null} user
 * @returns {Reader}
 */
function createReader(user) {
  /** @type {Reader['stat']} */
  async function statOf(path) {
    try {
      return user ? statAsUser(user, path) : await stat(path);
    } catch {
      return null;
    }
  }

  /** @type {Reader['bytes']} */
  async function bytes(file, maxBytes) {
    try {
      return await readRegular(file, maxBytes, user);
    } catch (error) {
      if (error instanceof Unfit && error.isTooLong) throw error;
      return null;
    }
  }

  /** @type {Reader['text']} */
  async function text(file, maxBytes) {
    return (await bytes(file, maxBytes))?.toString('utf8').trimEnd() ?? null;
  }

  /** @type {Reader['pathIn']} */
  async function pathIn(file, pattern) {
    const path = pattern.exec((await text(file, LINE_MAX_BYTES)) ?? '')?.[1];
    if (path === undefined) return null;
    const folder = resolve(dirname(file), path);
    if (user && chooseActor(user, file) && !chooseActor(user, join(folder, 'HEAD')))
      throw systemError('EACCES', folder);
    return folder;
  }

  return {
    stat: statOf,
    line: (file) => text(file, LINE_MAX_BYTES),
    text,
    bytes,
    pathIn,
  };
}
