// Knows: rotated log files: names, compression, and which files have to be removed. Must not: write
// to a file that is still active. Start at: createArchive(), then planRetention() in retention.js,
// a pure function.
import { rmSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { removeAsUser, removeEachAsUser } from '../../../../lib/shared/host/as-user.js';
import { createSerial } from '../../../../lib/shared/serial.js';
import { createYield } from '../../../../lib/shared/yield.js';
import { timesFilePath } from '../times/format.js';
import { compressSegment } from './compression.js';
import { createInventory, REFRESHED_AT_ONCE, refreshInTurns, updateInventory } from './inventory.js';
import { planRetention } from './retention.js';
import { NAMES_MAX, parseSegmentName, SUFFIX, readSize, UNFINISHED } from './segments.js';

/** @import { User } from '../../../../lib/shared/host/user-path.js' */
/** @import { GivenLimits, LogLimits, ManagerLog } from '../../context.js' */
/** @import { Clock } from '../../host/clock.js' */
/** @import { LogFiles } from './inventory.js' */
/** @import { OwnedFile } from './segments.js' */

/** Interval of scans for old segments and for changes by other programs, in ms. */
const LOOK_EVERY_MS = 600_000;
/** Delay of the scan after a file was added, in ms. */
const LOOK_SOON_MS = 1_000;

/**
 * Pause between two chunks of a compression, in ms, because compressing 10 MB at once would take
 * 0.2 s of a core.
 */
const PAUSE_MS = 1;

/**
 * If the home is full, this part of its limit is freed at once, so that the next chunks have space.
 */
const HOME_SLACK = 1 / 64;

/** Segments that are removed at once. Other work goes before the removal of further ones. */
const REMOVED_AT_ONCE = 100;

/** The user of a folder can prevent removals, or add files at any time. */
const FLUSH_LOOKS = 20;

/**
 * @typedef {object} Archive
 * @property {(path: string, limits: GivenLimits, app?: string, user?: User | null) => void} acquire
 *   Files of one `app` share its limit on the total. A second call changes the limits.
 * @property {(path: string) => void} release  The segments of the file stay.
 * @property {(path: string, segment: string) => void} rotated  Removes surplus segments at once.
 * @property {(path: string, bytes: number) => void} grew  Must be fast, because it is called for
 *   each chunk.
 * @property {(files: OwnedFile[]) => Promise<void>} flush
 *   Removes all segments. The caller empties the files.
 * @property {() => Promise<void>} scan  Reads the disk now. Also runs every ten minutes.
 * @property {() => Promise<void>} idle  Resolves when no scan, removal or compression runs or waits.
 * @property {() => string[]} notices
 * @property {() => Promise<void>} close
 *   Idempotent. A segment that is being compressed stays uncompressed.
 */

/**
 * @param {object} o
 * @param {Clock} o.clock
 * @param {ManagerLog} o.managerLog
 * @param {(given: GivenLimits | null) => LogLimits} o.limitsOf
 * @param {string} o.logsFolder  Files in it that no app writes to are also managed.
 * @param {string} o.timesFolder  Times are removed together with their segment.
 * @returns {Archive}
 */
export function createArchive({ clock, managerLog, limitsOf, logsFolder, timesFolder }) {
  const inventory = createInventory(logsFolder);
  /** Segments whose compression failed. Tried again after the next scan. @type {Set<string>} */
  const failed = new Set();
  /**
   * By app or folder: the number of segments when no segment could be removed.
   * @type {Map<string, number>}
   */
  const countsWhenStuck = new Map();
  /**
   * Log files for which reportKept() has logged a failure since the last scan.
   * @type {Set<string>}
   */
  const reported = new Set();
  /** @type {{ path: string, plainPath: string, controller: AbortController } | null} */
  let compressing = null;
  /** @type {Promise<void>} */
  let working = Promise.resolve();
  /** By their plain path: segments that wait for their removal. @type {Map<string, string>} */
  const surplus = new Map();
  const removals = createSerial();
  /** @type {string[]} */
  let cutFolders = [];
  let isClosed = false;
  let isLookDue = false;
  /** Scans that run or wait. */
  let looks = 0;
  const scans = createSerial();
  const cancelLooks = clock.every(LOOK_EVERY_MS, lookInBackground);
  lookInBackground();

  function lookSoon() {
    if (isLookDue || isClosed) return;
    isLookDue = true;
    clock.after(LOOK_SOON_MS, lookInBackground);
  }

  function lookInBackground() {
    isLookDue = false;
    if (looks === 0)
      void scan(); // scan() never rejects.
    else lookSoon();
  }

  /** Starts a scan after the scans that already run or wait. */
  function scan() {
    looks += 1;
    return scans(async () => {
      await lookNow().catch((error) => managerLog('log-look-failed', { message: error.message }));
      looks -= 1;
    });
  }

  async function lookNow() {
    if (isClosed) return;
    reported.clear();
    cutFolders = await updateInventory(inventory, logsFolder, {
      compressing: () => compressing?.plainPath ?? null,
      onKept: reportKept,
    });
    if (isClosed) return;
    failed.clear();
    enforce(inventory.files());
    compressNext();
  }

  /** @param {LogFiles[]} files */
  function enforce(files) {
    const homeMaxBytes = limitsOf(null).homeMaxTotalBytes;
    const isHomeFull = inventory.homeBytes() > homeMaxBytes;
    const looked = isHomeFull ? inventory.files() : files;
    const kept = looked.map((file) => ({
      ...file,
      limits: file.limits && limitsOf(file.limits),
      segments: [...file.segments.values()],
    }));
    const homeMaxTotalBytes = isHomeFull ? homeMaxBytes * (1 - HOME_SLACK) : Infinity;
    const owners = new Map(
      looked.flatMap(({ path, segments }) => [...segments.keys()].map((plainPath) => [plainPath, path])),
    );
    for (const { plainPath } of planRetention(kept, { homeMaxTotalBytes, nowMs: clock.nowMs() }))
      surplus.set(plainPath, /** @type {string} */ (owners.get(plainPath)));
    for (let left = REMOVED_AT_ONCE; left > 0 && removeNext(); left -= 1);
    if (surplus.size > 0) void removals(removeInTurns); // Never rejects.
  }

  /** @returns {boolean}  False: no segment waits. */
  function removeNext() {
    const [next] = surplus;
    if (!next) return false;
    const [plainPath, path] = next;
    surplus.delete(plainPath);
    remove(path, plainPath);
    return true;
  }

  async function removeInTurns() {
    const turn = createYield();
    while (!isClosed && removeNext()) await turn();
  }

  /**
   * @param {string} path
   * @param {string} plainPath
   */
  function remove(path, plainPath) {
    if (compressing?.plainPath === plainPath) abort();
    inventory.drop(path, plainPath);
    try {
      const names = ['', ...Object.values(SUFFIX)].map((suffix) => basename(plainPath) + suffix);
      removeEachAsUser(inventory.at(path).user, dirname(plainPath), names);
      rmSync(timesFilePath(timesFolder, plainPath), { force: true });
    } catch (error) {
      reportKept(path, plainPath, error); // The next scan finds the segment again.
    }
  }

  /**
   * Logs only one failure for each log file until the next scan, because the user of the file can
   * prevent any number of removals.
   * @param {string} path
   * @param {string} kept
   * @param {unknown} error
   */
  function reportKept(path, kept, error) {
    if (reported.has(path)) return;
    reported.add(path);
    managerLog('log-segment-kept', { path: kept, code: /** @type {NodeJS.ErrnoException} */ (error).code });
  }

  /**
   * Returns the newest uncompressed segment, because in a flood of output the archive removes the
   * oldest segments before it could compress them.
   */
  function nextToCompress() {
    let next = null;
    for (const { path, limits, segments } of inventory.files()) {
      const { compress: kind } = limitsOf(limits);
      if (kind === 'none') continue;
      for (const segment of segments.values()) {
        const isOpen = segment.compression === null && !failed.has(segment.plainPath);
        if (isOpen && (!next || segment.endedAtMs > next.segment.endedAtMs)) next = { path, segment, kind };
      }
    }
    return next;
  }

  function compressNext() {
    const next = isClosed || compressing ? null : nextToCompress();
    if (next) working = compress(next);
  }

  /** @param {NonNullable<ReturnType<typeof nextToCompress>>} next */
  async function compress({ path, segment, kind }) {
    const { plainPath } = segment;
    const { user } = inventory.at(path);
    const controller = new AbortController();
    compressing = { path, plainPath, controller };
    try {
      const done = await compressSegment(plainPath, kind, { user, signal: controller.signal, pause });
      inventory.put(path, { ...segment, ...done, compression: kind });
    } catch (error) {
      failed.add(plainPath);
      // Do not report a segment that a user has removed.
      if (!controller.signal.aborted && readSize(plainPath, user) !== null)
        managerLog('log-compression-failed', { path: plainPath, message: /** @type {Error} */ (error).message });
    }
    compressing = null;
    compressNext();
  }

  /** Aborts the compression. Synchronous, because this process may exit in this turn. */
  function abort() {
    if (!compressing) return;
    const { path, plainPath, controller } = compressing;
    controller.abort();
    try {
      for (const suffix of Object.values(SUFFIX))
        removeAsUser(inventory.at(path).user, plainPath + suffix + UNFINISHED);
    } catch (error) {
      reportKept(path, plainPath, error);
    }
  }

  /** @type {() => Promise<void>} */
  const pause = () => new Promise((resolve) => void clock.after(PAUSE_MS, resolve));

  /** @param {string} app */
  const listFiles = (app) => inventory.files().filter((file) => file.app === app);

  return {
    acquire(path, limits, app = path, user = null) {
      if (!inventory.has(path)) lookSoon();
      inventory.acquire(path, limits, app, user);
      inventory.setActive(path, readSize(path, user) ?? 0);
    },
    release(path) {
      if (inventory.has(path)) inventory.at(path).limits = null;
    },
    rotated(path, segment) {
      inventory.setActive(path, readSize(path, inventory.at(path).user) ?? 0);
      const name = parseSegmentName(basename(segment));
      const known = name && inventory.at(path).isKnown ? inventory.names(path, [name]) : inventory.names(path);
      inventory.refresh(path, known.slice(-REFRESHED_AT_ONCE));
      if (known.length > REFRESHED_AT_ONCE) lookSoon();
      enforce(listFiles(inventory.at(path).app));
      compressNext();
    },
    grew(path, bytes) {
      const file = inventory.at(path);
      inventory.setActive(path, file.activeBytes + bytes);
      const { maxTotalBytes, homeMaxTotalBytes } = limitsOf(file.limits);
      const isHomeFull = inventory.homeBytes() > homeMaxTotalBytes;
      const segmentCount = inventory.segmentCount();
      // If the active files alone are too large, planning at each chunk removes nothing. So
      // the next plan waits until the number of segments has changed.
      const full = isHomeFull ? logsFolder : inventory.appBytes(file.app) > maxTotalBytes ? file.app : null;
      if (full === null || segmentCount === 0 || countsWhenStuck.get(full) === segmentCount) return;
      enforce(listFiles(file.app));
      if (inventory.segmentCount() === segmentCount) countsWhenStuck.set(full, segmentCount);
    },
    async flush(files) {
      const turn = createYield();
      for (const { path, user } of files) {
        inventory.at(path).user = user;
        // A folder may have more segments than one look shows.
        for (let look = 0; look < FLUSH_LOOKS; look += 1) {
          await refreshInTurns(inventory, path, turn);
          const plainPaths = [...inventory.at(path).segments.keys()];
          if (plainPaths.length === 0) break;
          for (const plainPath of plainPaths) {
            remove(path, plainPath);
            await turn();
          }
        }
        inventory.setActive(path, 0);
      }
    },
    scan,
    notices: () =>
      cutFolders.map(
        (folder) =>
          `The folder "${folder}" has more than ${NAMES_MAX.user} files, and nclust may not find each rotated log. ` +
          `Remove files, or use another folder.`,
      ),
    async idle() {
      await scans(() => {});
      await removals(() => {});
      while (compressing) await working;
    },
    async close() {
      isClosed = true;
      cancelLooks();
      abort();
      await scans(() => {});
      await removals(() => {});
      await working;
    },
  };
}
