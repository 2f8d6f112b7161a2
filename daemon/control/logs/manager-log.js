/**
 * The manager's own log: one JSON line per event, with a stable name.
 * @typedef {(event: string, fields?: object) => void} Journal
 */

/**
 * @param {{write: (line: string) => void}} log  nclust.log.
 * @param {() => number} nowMs
 * @returns {Journal}
 */
export function createJournal(log, nowMs) {
  return (event, fields = {}) => {
    const line = `${JSON.stringify({ at: new Date(nowMs()).toISOString(), from: 'control', event, ...fields })}\n`;
    try {
      log.write(line);
    } catch {
      // A full disk: the manager works on without its log.
    }
  };
}
