import { basename, dirname, extname, join } from 'node:path';
import { listAsUser, statAsUser } from '../../../../lib/shared/host/as-user.js';

/** @import { User } from '../../../../lib/shared/host/user-path.js' */

/** @typedef {'gzip' | 'zstd'} Compression */

/**
 * What a log file held when it was full. Its name tells which file that was and when.
 * @typedef {object} Segment
 * @property {string} path  Where it is now.
 * @property {string} plainPath  The same without .gz or .zst: its identity, for as long as it
 *   lives.
 * @property {Compression | null} compression  Null: not, or not yet.
 * @property {number} endedAtMs  When the file was full, wall clock.
 * @property {number} sizeBytes  On the disk.
 */

/** @typedef {{ path: string, user: User | null }} OwnedFile  A log file, and whose it is. */

/**
 * @typedef {object} SegmentName  `owner`: the name of the active file.
 * @property {string} owner
 * @property {string} plainName
 * @property {Compression | null} compression
 * @property {number} endedAtMs
 */

/** @type {Record<Compression, string>} */
export const SUFFIX = { gzip: '.gz', zstd: '.zst' };

/** What a compressed segment is called until it is whole. */
export const UNFINISHED = '.tmp';

const DATED = /^(.*)__(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z(.*)$/s;

/** A clock that was set back by less, in ms, does not put new segments before old ones. */
const SET_BACK_MAX_MS = 24 * 3_600_000;

/**
 * The last name given to a segment of each file: a folder with thousands of them is read once and
 * not with every rotation.
 * @type {Map<string, number>}
 */
const newestMsOf = new Map();

/**
 * @param {string} path  Of the active file.
 * @param {number} endedAtMs
 * @param {User | null} [user]
 * @returns {string}  Absolute path of a segment that is not there yet, and comes after those that
 *   are.
 */
export function segmentName(path, endedAtMs, user = null) {
  const newestMs =
    newestMsOf.get(path) ??
    Math.max(
      ...namesOf(path, user)
        .map((name) => name.endedAtMs)
        .filter((ms) => ms - endedAtMs < SET_BACK_MAX_MS),
      -Infinity,
    );
  let atMs = newestMs - endedAtMs < SET_BACK_MAX_MS ? Math.max(endedAtMs, newestMs + 1) : endedAtMs;
  while (isTaken(nameAt(path, atMs), user)) atMs += 1;
  newestMsOf.set(path, atMs);
  return nameAt(path, atMs);
}

/**
 * @param {string} path  Of the active file.
 * @param {User | null} [user]
 * @returns {Segment[]}  Oldest first, without the active file. Empty when its folder cannot be
 *   read.
 */
export function readSegments(path, user = null) {
  return readSegmentsOf([{ path, user }]).get(path) ?? [];
}

/**
 * The segments of many files; a folder they share is read once.
 * @param {OwnedFile[]} files  The active ones.
 * @returns {Map<string, Segment[]>}  By the path of the active file.
 */
export function readSegmentsOf(files) {
  /** @type {Map<string, Map<string, SegmentName[]>>} */
  const folders = new Map();
  return new Map(
    files.map(({ path, user }) => {
      const folder = dirname(path);
      const key = `${user?.uid} ${folder}`;
      const known = folders.get(key) ?? byOwner(namesIn(folder, user));
      folders.set(key, known);
      const names = known.get(basename(path)) ?? [];
      return [path, names.flatMap((name) => readSizes(folder, name, user) ?? []).sort(compareAge)];
    }),
  );
}

/**
 * @param {string} folder
 * @param {User | null} user
 * @returns {string[]}  Empty when it cannot be read.
 */
export function namesIn(folder, user) {
  try {
    return listAsUser(user, folder);
  } catch {
    return []; // It does not exist yet, or it is closed to us: there is nothing to show or to remove.
  }
}

/**
 * @param {string} path  Of an active file.
 * @param {User | null} user
 */
export function namesOf(path, user) {
  const start = `${basename(path, extname(path))}__`;
  const names = namesIn(dirname(path), user)
    .filter((name) => name.startsWith(start))
    .flatMap((name) => parseSegmentName(name) ?? []);
  return names.filter(({ owner }) => owner === basename(path));
}

/**
 * @param {string} name  Of a file, without its folder.
 * @returns {SegmentName | null}  Null when it is no segment.
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
 * @param {SegmentName} name
 * @param {User | null} user
 * @returns {Segment | null}  Null when it has gone meanwhile.
 */
export function readSizes(folder, { plainName, compression, endedAtMs }, user) {
  const plainPath = join(folder, plainName);
  const path = compression ? plainPath + SUFFIX[compression] : plainPath;
  const sizeBytes = segmentSize(path, user);
  return sizeBytes === null ? null : { path, plainPath, compression, endedAtMs, sizeBytes };
}

/**
 * @param {string} path
 * @param {User | null} user
 * @returns {number | null}  Null when there is no file that can be looked at.
 */
export function sizeOf(path, user) {
  try {
    const stat = statAsUser(user, path);
    return stat?.isFile() ? stat.size : null;
  } catch {
    return null; // Its folder is closed to us: it cannot be read or removed either.
  }
}

/**
 * A user can make links in a log folder, with names of segments. Control itself makes none.
 * @param {string} path
 * @param {User | null} user
 * @returns {number | null}  Null when there is no segment that can be looked at.
 */
function segmentSize(path, user) {
  try {
    const stat = statAsUser(user, path, { isFollowing: user === null });
    return stat?.isFile() && (user === null || stat.nlink === 1) ? stat.size : null;
  } catch {
    return null; // Its folder is closed to us.
  }
}

/**
 * A death in the middle of a compression can leave a segment both ways. The plain one is whole for
 * certain, and is compressed once more.
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
function nameAt(path, atMs) {
  const extension = extname(path);
  const date = new Date(atMs).toISOString().replace(/[:.]/g, '-');
  return `${path.slice(0, path.length - extension.length)}__${date}${extension}`;
}
