import { writeSync } from 'node:fs';

/**
 * The manager's own log: one JSON line per event, with a stable name.
 * @typedef {(event: string, fields?: object) => void} Journal
 */

/**
 * @param {number} fd  Open for appending; nclust.log.
 * @param {() => number} nowMs
 * @returns {Journal}
 */
export function createJournal(fd, nowMs) {
  return (event, fields = {}) => {
    const line = `${JSON.stringify({ at: new Date(nowMs()).toISOString(), from: 'control', event, ...fields })}\n`;
    try {
      writeSync(fd, line);
    } catch {
      // A full disk: the manager works on without its log.
    }
  };
}
