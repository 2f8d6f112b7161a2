import { basename, dirname, join, sep } from 'node:path';
import { removeAsUser } from '../../../../lib/shared/host/as-user.js';
import { createYield } from '../../../../lib/shared/yield.js';
import { listNames, listSegmentNames, parseSegmentName, readSizes, readSize, UNFINISHED } from './segments.js';

/** @import { User } from '../../../../lib/shared/host/user-path.js' */
/** @import { GivenLimits } from '../../context.js' */
/** @import { Compression, Segment, SegmentName } from './segments.js' */

/**
 * @typedef {object} LogFiles
 * @property {string} path  The active file.
 * @property {string} app  The file counts for the limit on the total size of this app.
 * @property {User | null} user
 * @property {GivenLimits | null} limits  Null: no process writes to the file now.
 * @property {boolean} isInHome
 * @property {boolean} isKnown  Whether the segments were read from the disk.
 * @property {number} activeBytes
 * @property {Map<string, Segment>} segments  By their plain path.
 */

/**
 * @typedef {ReturnType<typeof createInventory>} Inventory  The log files, as last seen on the disk.
 *   They are kept in memory, because a home can hold thousands of files, and a flood of output
 *   rotates ten times a second.
 */

/** @type {(Compression | null)[]} */
const FORMS = [null, 'gzip', 'zstd'];

/** @param {string} logsFolder */
export function createInventory(logsFolder) {
  /** @type {Map<string, LogFiles>} */
  const files = new Map();
  /** @type {Map<string, number>} */
  const appBytes = new Map();
  let homeBytes = 0;
  let segmentCount = 0;

  /**
   * @param {LogFiles} file
   * @param {number} bytes  May be negative.
   */
  function count(file, bytes) {
    appBytes.set(file.app, (appBytes.get(file.app) ?? 0) + bytes);
    if (file.isInHome) homeBytes += bytes;
  }

  /** @param {string} path */
  function at(path) {
    const known = files.get(path);
    if (known) return known;
    /** @type {LogFiles} */
    const file = {
      path,
      app: path,
      user: null,
      limits: null,
      isInHome: path.startsWith(logsFolder + sep),
      isKnown: false,
      activeBytes: 0,
      segments: new Map(),
    };
    files.set(path, file);
    return file;
  }

  /**
   * @param {string} path
   * @param {string} plainPath
   */
  function drop(path, plainPath) {
    const segment = at(path).segments.get(plainPath);
    if (!segment) return;
    at(path).segments.delete(plainPath);
    segmentCount -= 1;
    count(at(path), -segment.sizeBytes);
  }

  /**
   * @param {string} path
   * @param {Segment} segment
   */
  function put(path, segment) {
    drop(path, segment.plainPath);
    at(path).segments.set(segment.plainPath, segment);
    segmentCount += 1;
    count(at(path), segment.sizeBytes);
  }

  return {
    files: () => [...files.values()],
    at,
    drop,
    put,
    has: (/** @type {string} */ path) => files.has(path),
    homeBytes: () => homeBytes,
    appBytes: (/** @type {string} */ app) => appBytes.get(app) ?? 0,
    segmentCount: () => segmentCount,

    /**
     * @param {string} path
     * @param {GivenLimits} limits
     * @param {string} app
     * @param {User | null} user
     */
    acquire(path, limits, app, user) {
      const file = at(path);
      const bytes = sumBytes(file);
      count(file, -bytes);
      Object.assign(file, { limits, app, user });
      count(file, bytes);
    },

    /**
     * @param {string} path
     * @param {number} bytes
     */
    setActive(path, bytes) {
      const file = at(path);
      count(file, bytes - file.activeBytes);
      file.activeBytes = bytes;
    },

    /**
     * @param {string} path
     * @param {SegmentName[]} [listed]  Default: reads the folder.
     * @returns {SegmentName[]}  The segments in the folder, and those that were there before.
     */
    names(path, listed = listSegmentNames(path, at(path).user)) {
      const remembered = [...at(path).segments.keys()].flatMap(
        (plainPath) => parseSegmentName(basename(plainPath)) ?? [],
      );
      // A crash during a compression can leave a segment in both forms. The plain form comes last
      // here and counts, because it is certainly whole.
      const forms = [...listed].sort((a, b) => Number(a.compression === null) - Number(b.compression === null));
      return [...new Map([...remembered, ...forms].map((name) => [name.plainName, name])).values()];
    },

    /**
     * Reads segments again, synchronously.
     * @param {string} path
     * @param {SegmentName[]} names
     * @returns {void}
     */
    refresh(path, names) {
      const { user } = Object.assign(at(path), { isKnown: true });
      const folder = dirname(path);
      const found = find(folder, names, user);
      for (const { plainName } of names) {
        const segment = found.get(plainName);
        if (segment) put(path, segment);
        else drop(path, join(folder, plainName));
      }
    },

    /** @param {string} path */
    forget(path) {
      const file = at(path);
      count(file, -sumBytes(file));
      segmentCount -= file.segments.size;
      files.delete(path);
    },
  };
}

/** @param {LogFiles} file */
function sumBytes({ activeBytes, segments }) {
  return [...segments.values()].reduce((sum, { sizeBytes }) => sum + sizeBytes, activeBytes);
}

/**
 * @param {string} folder
 * @param {SegmentName[]} names
 * @param {User | null} user
 * @returns {Map<string, Segment>}  By the plain name.
 */
function find(folder, names, user) {
  /** @type {Map<string, Segment>} */
  const found = new Map();
  const look = (/** @type {SegmentName[]} */ all) => {
    for (const segment of readSizes(folder, all, user)) found.set(basename(segment.plainPath), segment);
  };
  look(names);
  for (const compression of FORMS) {
    const missing = names.filter(({ plainName }) => !found.has(plainName));
    look(missing.map((name) => ({ ...name, compression })));
  }
  return found;
}

/** Segments that are read in one turn. Each needs about 20 us. */
export const REFRESHED_AT_ONCE = 1_000;

/**
 * Reads all segments of a file again, in turns.
 * @param {Inventory} inventory
 * @param {string} path
 * @param {ReturnType<typeof createYield>} turn
 * @param {SegmentName[]} [listed]
 */
export async function refreshInTurns(inventory, path, turn, listed) {
  const names = inventory.names(path, listed);
  inventory.refresh(path, []);
  for (let at = 0; at < names.length; at += REFRESHED_AT_ONCE) {
    inventory.refresh(path, names.slice(at, at + REFRESHED_AT_ONCE));
    await turn();
  }
}

/**
 * Reads the disk in turns. Removes unfinished files that a crash left.
 * @param {Inventory} inventory
 * @param {string} logsFolder  All files in this folder count. In other folders, only known files
 *   and their segments count.
 * @param {object} o
 * @param {() => string | null} o.compressing
 *   The plain path of the segment that is being compressed.
 * @param {(path: string, unfinished: string, error: unknown) => void} o.onKept
 *   Called if an unfinished file cannot be removed.
 * @returns {Promise<string[]>}  The folders that have more names than the limit.
 */
export async function updateInventory(inventory, logsFolder, { compressing, onKept }) {
  const turn = createYield();
  const seen = new Set();
  const cut = [];
  /** @type {Map<string, User | null>} */
  const folders = new Map([[logsFolder, null]]);
  for (const { path, user } of inventory.files()) if (!folders.has(dirname(path))) folders.set(dirname(path), user);
  for (const [folder, someUser] of folders) {
    const { names, isCut } = listNames(folder, someUser);
    if (isCut) cut.push(folder);
    const describeUser = (/** @type {string} */ owner) => inventory.at(join(folder, owner)).user;
    const remove = (/** @type {string} */ owner, /** @type {string} */ name) => {
      try {
        removeAsUser(describeUser(owner), join(folder, name));
      } catch (error) {
        onKept(join(folder, owner), join(folder, name), error);
      }
    };
    const isOurs = (/** @type {string} */ owner) => folder === logsFolder || inventory.has(join(folder, owner));
    const { owners, others } = await sorted(names);
    for (const [owner, listed] of owners) {
      if (!isOurs(owner)) continue;
      seen.add(join(folder, owner));
      await refreshInTurns(inventory, join(folder, owner), turn, listed);
    }
    for (const name of others) {
      const unfinished = listUnfinished(name);
      if (unfinished && isOurs(unfinished.owner)) {
        if (compressing() !== join(folder, unfinished.plainName)) remove(unfinished.owner, name);
      } else if (isOurs(name)) {
        const sizeBytes = readSize(join(folder, name), describeUser(name));
        if (sizeBytes !== null) inventory.setActive(join(folder, name), sizeBytes);
        if (sizeBytes !== null) seen.add(join(folder, name));
      }
      await turn();
    }
  }
  for (const { path, limits } of inventory.files()) if (limits === null && !seen.has(path)) inventory.forget(path);
  return cut;
}

/** @param {string} name */
function listUnfinished(name) {
  return name.endsWith(UNFINISHED) ? parseSegmentName(name.slice(0, -UNFINISHED.length)) : null;
}

/**
 * @param {string[]} names
 * @returns {Promise<{ owners: Map<string, SegmentName[]>, others: string[] }>}  `owners`: segments
 *   by the name of the active file. `others`: names of files that are not segments.
 */
async function sorted(names) {
  const turn = createYield();
  /** @type {Map<string, SegmentName[]>} */
  const owners = new Map();
  const others = [];
  for (const name of names) {
    const segment = parseSegmentName(name);
    const list = segment && owners.get(segment.owner);
    if (list) list.push(segment);
    else if (segment) owners.set(segment.owner, [segment]);
    else others.push(name);
    await turn();
  }
  return { owners, others };
}
