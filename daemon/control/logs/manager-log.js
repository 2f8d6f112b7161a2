import { closeSync, fstatSync, openSync, statSync, writeSync } from 'node:fs';
import { jsonLine } from '../../../lib/shared/daemon/json-line.js';
import { renameAsUser } from '../../../lib/shared/host/as-user.js';
import { followLinks } from '../../../lib/shared/host/follow-links.js';
import { segmentName } from './archive/segments.js';

/** @import { LogLimits, ManagerLog } from '../context.js' */

/**
 * @param {{ write: (line: string) => void }} log  nclust.log.
 * @param {() => number} nowMs
 * @returns {ManagerLog}
 */
export function createManagerLog(log, nowMs) {
  return (event, fields = {}) => {
    const line = `${jsonLine({ at: new Date(nowMs()).toISOString(), from: 'control', event, ...fields })}\n`;
    try {
      log.write(line);
    } catch {
      // Perhaps the disk is full. The manager continues without its log.
    }
  };
}

/**
 * These limits are not settings, because users do not maintain nclust.log.
 * @type {LogLimits}
 */
export const OWN_LOG_LIMITS = {
  maxSizeBytes: 10 * 1024 * 1024,
  interval: 'never',
  maxFiles: 3,
  maxAgeMs: Infinity,
  maxTotalBytes: Infinity,
  compress: 'gzip',
  homeMaxTotalBytes: Infinity,
};

/**
 * The manager's own log. The keeper appends to it too, and control rotates it for both.
 * @typedef {object} OwnLog
 * @property {(line: string) => void} write  Throws errors of the system.
 * @property {() => number} fd  The current file, open for appending.
 * @property {() => void} reopen  Throws errors of the system; then the old file stays in use.
 * @property {() => void} restore  Makes a removed file again, for programs that read the path. Never
 *   throws.
 */

/**
 * @param {string} path
 * @param {{ nowMs: () => number, onRotated: (segment: string) => void, maxSizeBytes?: number }} o
 * @returns {OwnLog}  Throws errors of the system.
 */
export function openOwnLog(path, { nowMs, onRotated, maxSizeBytes = OWN_LOG_LIMITS.maxSizeBytes }) {
  let fd = open();

  function open() {
    return openSync(path, 'a', 0o600);
  }

  function reopen() {
    const before = fd;
    fd = open();
    closeSync(before);
  }

  /** Returns false if another program has moved or removed the file. */
  function isOpen() {
    const [ours, named] = [fstatSync(fd), statSync(path, { throwIfNoEntry: false })];
    return ours.ino === named?.ino && ours.dev === named.dev;
  }

  return {
    write(line) {
      if (!isOpen()) reopen();
      writeSync(fd, line);
      if (fstatSync(fd).size < maxSizeBytes) return;
      const file = followLinks(null, path);
      const segment = segmentName(file, nowMs());
      renameAsUser(null, file, segment);
      reopen();
      onRotated(segment);
    },
    fd: () => fd,
    reopen,
    restore() {
      try {
        if (!isOpen()) reopen();
      } catch {
        // Perhaps the home is gone. The next call tries again.
      }
    },
  };
}
