import { basename, dirname, extname, join } from 'node:path';
import { listAsUser, statAsUser, statEachAsUser } from '../../../../lib/shared/host/as-user.js';
import { systemError } from '../../../../lib/shared/host/user-path.js';

/** @import { User } from '../../../../lib/shared/host/user-path.js' */

/** @typedef {'gzip' | 'zstd'} Compression */

/**
 * A rotated log file. Its name contains the name of the active file and the time.
 * @typedef {object} Segment
 * @property {string} path
 * @property {string} plainPath  The path without .gz or .zst. It identifies the segment.
 * @property {Compression | null} compression  Null: not compressed (yet).
 * @property {number} endedAtMs  When the file was rotated, wall clock.
 * @property {number} sizeBytes  On the disk.
 */

/** @typedef {{ path: string, user: User | null }} OwnedFile */

/**
 * @typedef {object} SegmentName  `owner`: the name of the active file.
 * @property {string} owner
 * @property {string} plainName
 * @property {Compression | null} compression
 * @property {number} endedAtMs
 */

/** @type {Record<Compression, string>} */
export const SUFFIX = { gzip: '.gz', zstd: '.zst' };

/** The suffix of a compressed segment until it is whole. */
export const UNFINISHED = '.tmp';

const DATED = /^(.*)__(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z(.*)$/s;

/** A user can take names in advance. If this many are taken, the rotation fails. */
const TAKEN_MAX = 1_000;

/** If a clock was set back by less than this, in ms, new segments still come after old ones. */
const SET_BACK_MAX_MS = 24 * 3_600_000;

/**
 * Time of the newest segment, by path. So a rotation does not have to read a folder with thousands
 * of segments.
 * @type {Map<string, number>}
 */
const newestMsOf = new Map();

/**
 * @param {string} path
 * @param {number} endedAtMs
 * @param {User | null} [user]
 * @returns {string}  An unused path. It sorts after the existing segments, unless the clock was set
 *   back by a day or more. Throws EEXIST if there are too many segments from the future.
 */
export function segmentName(path, endedAtMs, user = null) {
  const newestMs = newestMsOf.get(path) ?? newestAmong(listSegmentNames(path, user), endedAtMs + SET_BACK_MAX_MS);
  const firstMs = newestMs - endedAtMs < SET_BACK_MAX_MS ? Math.max(endedAtMs, newestMs + 1) : endedAtMs;
  for (let atMs = firstMs; atMs < firstMs + TAKEN_MAX; atMs += 1) {
    if (isTaken(findName(path, atMs), user)) continue;
    newestMsOf.set(path, atMs);
    return findName(path, atMs);
  }
  throw systemError('EEXIST', findName(path, firstMs));
}

/**
 * @param {SegmentName[]} names
 * @param {number} beforeMs
 */
function newestAmong(names, beforeMs) {
  return names.reduce(
    (newestMs, { endedAtMs }) => (endedAtMs < beforeMs ? Math.max(newestMs, endedAtMs) : newestMs),
    -Infinity,
  );
}

/**
 * @param {string} path
 * @param {User | null} [user]
 * @returns {Segment[]}  Oldest first, without the active file. Empty if its folder cannot be read.
 */
export function readSegments(path, user = null) {
  return listSegmentsByPath([{ path, user }]).get(path) ?? [];
}

/**
 * Reads a shared folder only once.
 * @param {OwnedFile[]} files
 * @returns {Map<string, Segment[]>}  By the path of the active file.
 */
export function listSegmentsByPath(files) {
  /** @type {Map<string, Map<string, SegmentName[]>>} */
  const folders = new Map();
  return new Map(
    files.map(({ path, user }) => {
      const folder = dirname(path);
      const key = `${user?.uid} ${folder}`;
      const known = folders.get(key) ?? byOwner(listNames(folder, user).names);
      folders.set(key, known);
      const names = known.get(basename(path)) ?? [];
      const newest = user ? names.sort((a, b) => a.endedAtMs - b.endedAtMs).slice(-SEGMENTS_OF_USER_MAX) : names;
      return [path, readSizes(folder, newest, user).sort(compareAge)];
    }),
  );
}

/** A user decides how many segments its folder has. The oldest of more segments are not shown. */
const SEGMENTS_OF_USER_MAX = 1_000;

/** Limits for the names in a folder: of a user, and of the manager's own user. */
export const NAMES_MAX = { user: 25_000, own: 500_000 };

/**
 * @param {string} folder
 * @param {User | null} user
 * @returns {{ names: string[], isCut: boolean }}  Empty if the folder cannot be read. `isCut`: the
 *   folder has more names.
 */
export function listNames(folder, user) {
  try {
    return listAsUser(user, folder, user ? NAMES_MAX.user : NAMES_MAX.own);
  } catch {
    return { names: [], isCut: false }; // The folder does not exist yet, or we may not read it.
  }
}

/**
 * @param {string} path
 * @param {User | null} user
 */
export function listSegmentNames(path, user) {
  const start = `${basename(path, extname(path))}__`;
  const names = listNames(dirname(path), user)
    .names.filter((name) => name.startsWith(start))
    .flatMap((name) => parseSegmentName(name) ?? []);
  return names.filter(({ owner }) => owner === basename(path));
}

/**
 * @param {string} name
 * @returns {SegmentName | null}  Null if it is not a segment.
 */
export function parseSegmentName(name) {
  const match = DATED.exec(name);
  if (!match) return null;
  const [, stem, date, hours, minutes, seconds, ms, rest] = match;
  const endedAtMs = Date.parse(`${date}T${hours}:${minutes}:${seconds}.${ms}Z`);
  const compression =
    /** @type {Compression[]} */ (Object.keys(SUFFIX)).find((kind) => rest.endsWith(SUFFIX[kind])) ?? null;
  const extension = compression ? rest.slice(0, -SUFFIX[compression].length) : rest;
  if (Number.isNaN(endedAtMs) || extension !== extname(`x${extension}`)) return null;
  return {
    owner: stem + extension,
    plainName: compression ? name.slice(0, -SUFFIX[compression].length) : name,
    compression,
    endedAtMs,
  };
}

/**
 * @param {string} folder
 * @param {SegmentName[]} names
 * @param {User | null} user
 * @returns {Segment[]}  Without segments that do not exist. Empty if we may not enter the folder.
 */
export function readSizes(folder, names, user) {
  const files = names.map(({ plainName, compression }) => plainName + (compression ? SUFFIX[compression] : ''));
  const stats = statEach(folder, files, user);
  return names.flatMap(({ plainName, compression, endedAtMs }, at) => {
    const stat = stats[at];
    // Skips links, because control never makes links, but a user can.
    if (!stat?.isFile() || (user !== null && stat.nlink > 1)) return [];
    const [path, plainPath] = [join(folder, files[at]), join(folder, plainName)];
    return [{ path, plainPath, compression, endedAtMs, sizeBytes: stat.size }];
  });
}

/**
 * @param {string} folder
 * @param {string[]} names
 * @param {User | null} user
 */
function statEach(folder, names, user) {
  try {
    return statEachAsUser(user, folder, names);
  } catch {
    return []; // We may not enter the folder.
  }
}

/**
 * @param {string} path
 * @param {User | null} user
 * @returns {number | null}  Null if there is no regular file, or we may not enter the folder.
 */
export function readSize(path, user) {
  const stat = statFile(path, user, { isFollowing: false });
  return stat?.isFile() ? stat.size : null;
}

/**
 * @param {string} path
 * @param {User | null} user
 * @param {Parameters<typeof statAsUser>[2]} [o]
 * @returns {ReturnType<typeof statAsUser>}  Null if nothing is there, or we may not enter the folder.
 */
export function statFile(path, user, o) {
  try {
    return statAsUser(user, path, o);
  } catch {
    return null; // We may not enter the folder, so we can neither read nor remove the file.
  }
}

/**
 * If a crash left a segment in both forms, the plain form counts, because it is certainly whole.
 * @param {string[]} names
 * @returns {Map<string, SegmentName[]>}  By the name of the active file.
 */
function byOwner(names) {
  /** @type {Map<string, SegmentName>} */
  const found = new Map();
  for (const name of names) {
    const parsed = parseSegmentName(name);
    if (parsed && (parsed.compression === null || !found.has(parsed.plainName))) found.set(parsed.plainName, parsed);
  }
  /** @type {Map<string, SegmentName[]>} */
  const owners = new Map();
  for (const name of found.values()) {
    const list = owners.get(name.owner) ?? [];
    list.push(name);
    owners.set(name.owner, list);
  }
  return owners;
}

/**
 * @param {{ endedAtMs: number, plainPath: string }} a
 * @param {{ endedAtMs: number, plainPath: string }} b
 */
export function compareAge(a, b) {
  return a.endedAtMs - b.endedAtMs || (a.plainPath < b.plainPath ? -1 : 1);
}

/**
 * @param {string} plainPath
 * @param {User | null} user
 */
function isTaken(plainPath, user) {
  return ['', ...Object.values(SUFFIX)].some(
    (suffix) => statAsUser(user, plainPath + suffix, { isFollowing: false }) !== null,
  );
}

/**
 * @param {string} path
 * @param {number} atMs
 */
function findName(path, atMs) {
  const extension = extname(path);
  const date = new Date(atMs).toISOString().replace(/[:.]/g, '-');
  return `${path.slice(0, path.length - extension.length)}__${date}${extension}`;
}
