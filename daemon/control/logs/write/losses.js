const NEWLINE = 0x0a;

/** How long a loss is told about after the last of it, in ms: every command shows it. */
const TOLD_MS = 3_600_000;

/**
 * What could not be kept of a log, and why.
 * @typedef {object} Losses
 * @property {(bytes: Buffer, reason: string) => void} add
 * @property {() => void} recovered  Writing works again.
 * @property {() => {lines: number, bytes: number, reason: string, atMs: number}|null} told  Null when there was none in the last hour.
 * @property {() => boolean} isLosing  Whether the last write failed.
 */

/**
 * @param {() => number} nowMs
 * @param {(reason: string) => void} [onFirst]  Of a loss, when none is told about.
 * @returns {Losses}
 */
export function createLosses(nowMs, onFirst = () => {}) {
  const sum = { lines: 0, bytes: 0, reason: '', atMs: 0 };
  let isLosing = false;
  return {
    add(bytes, reason) {
      isLosing = true;
      if (nowMs() - sum.atMs > TOLD_MS) Object.assign(sum, { lines: 0, bytes: 0 });
      if (sum.bytes === 0) onFirst(reason);
      sum.lines += countLines(bytes);
      sum.bytes += bytes.length;
      sum.reason = reason;
      sum.atMs = nowMs();
    },
    recovered() {
      isLosing = false;
    },
    told: () => (sum.bytes === 0 || nowMs() - sum.atMs > TOLD_MS ? null : { ...sum }),
    isLosing: () => isLosing,
  };
}

/** @param {Buffer} bytes */
export function countLines(bytes) {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}
