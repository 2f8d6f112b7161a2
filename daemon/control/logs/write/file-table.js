import { createDisk } from './disk.js';
import { createLogFile } from './log-file.js';

/** @import { User } from '../../../../lib/shared/host/user-path.js' */
/** @import { Archive } from '../archive/archive.js' */
/** @import { GivenLimits, LogLimits } from '../../context.js' */
/** @import { Times } from '../times/times.js' */
/** @import { LogFile, OnWritten } from './log-file.js' */

/**
 * @typedef {object} FileOptions
 * @property {string} name  The app's name.
 * @property {User | null} user
 * @property {GivenLimits} limits
 * @property {'block' | 'drop'} overflow
 */

/** @typedef {ReturnType<typeof createFileTable>} FileTable */

/**
 * Opens each file once, even if instances share it. The options of the last holder apply.
 * @param {object} o
 * @param {() => number} o.nowMs
 * @param {(path: string) => Times} o.openTimes
 * @param {Archive} o.archive
 * @param {(given: GivenLimits | null) => LogLimits} o.limitsOf
 * @param {(name: string, reason: string) => void} [o.onLost]
 */
export function createFileTable({ nowMs, openTimes, archive, limitsOf, onLost = () => {} }) {
  const disk = createDisk();
  /** @typedef {{ file: LogFile, holders: number, options: FileOptions }} OpenLogFile */
  /** @type {Map<string, OpenLogFile>} */
  const table = new Map();

  /**
   * @param {string} path
   * @param {FileOptions} options
   * @returns {OpenLogFile}
   */
  function getEntry(path, options) {
    const goal = () => table.get(path)?.options ?? options;
    const file = createLogFile({
      disk,
      isDropping: () => goal().overflow === 'drop',
      onLost: (reason) => onLost(goal().name, reason),
      place: {
        path,
        user: () => goal().user,
        nowMs,
        limits: () => limitsOf(goal().limits),
        openTimes: () => openTimes(path),
        onRotated: archive.rotated,
      },
    });
    return { holders: 0, options, file };
  }

  /**
   * Whether the table can drop a file. A file without a holder stays while bytes wait for the disk,
   * because a path must not have two writers. It also stays while its losses are reported.
   * @param {OpenLogFile} entry
   * @param {(name: string) => boolean} hasApp
   */
  function isOver({ file, holders, options }, hasApp) {
    return holders === 0 && file.isIdle() && (file.notice() === null || !hasApp(options.name));
  }

  return {
    /**
     * @param {string} path
     * @param {FileOptions} options
     */
    acquire(path, options) {
      if (path === '') return;
      const entry = table.get(path) ?? getEntry(path, options);
      entry.holders += 1;
      entry.options = options;
      table.set(path, entry);
      archive.acquire(path, options.limits, options.name, options.user);
      entry.file.prepare();
    },
    /** @param {string} path */
    release(path) {
      const entry = table.get(path);
      if (!entry) return;
      entry.holders -= 1;
      if (entry.holders > 0) return;
      entry.file.close();
      archive.release(path);
      if (isOver(entry, () => true)) table.delete(path);
    },
    /**
     * @param {string} path
     * @param {Buffer} chunk
     * @param {OnWritten} onWritten
     */
    append(path, chunk, onWritten) {
      const entry = table.get(path);
      if (!entry) {
        onWritten(chunk, null);
        return null;
      }
      return entry.file.append(chunk, (part, at) => {
        onWritten(part, at);
        // Counts only bytes in regular files: lost bytes, and bytes for a pipe or a device, take no
        // space on the disk.
        if (at) archive.grew(path, part.length);
      });
    },
    /** @param {string} path */
    fileAt: (path) => table.get(path)?.file ?? null,
    finish() {
      for (const { file } of table.values()) file.finish();
    },
    reopen() {
      for (const { file } of table.values()) file.reopen();
    },
    /** @param {(name: string) => boolean} hasApp  Losses of a deleted app are no longer reported. */
    notices(hasApp) {
      for (const [path, entry] of table) if (isOver(entry, hasApp)) table.delete(path);
      return [...table.values()].flatMap(({ file }) => file.notice() ?? []);
    },
  };
}
