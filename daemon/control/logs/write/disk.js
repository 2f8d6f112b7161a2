import { write, writeSync } from 'node:fs';
import { promisify } from 'node:util';

const put = promisify(write);

/** If a write takes longer than this, in ms, the disk counts as slow. */
const SLOW_MS = 50;

/** The disk counts as fast again after this many fast writes in a row. */
const WELL_AFTER = 20;
const QUICK_MS = 10;

/** Node.js has four threads for files. Two of them stay free for other work. */
const AT_ONCE_MAX = 2;

/**
 * While the disk is fast, control writes synchronously, because control has the only copy
 * of bytes from a pipe. After a slow write, other threads write, so that a disk that hangs delays
 * only logs.
 * @typedef {object} Disk
 * @property {() => boolean} isSlow
 * @property {(fd: number, bytes: Buffer) => number} writeNow  Throws errors of write(2).
 * @property {(fd: number, bytes: Buffer) => Promise<number>} writeLater
 *   The bytes must not change until the promise settles. Rejects with errors of write(2).
 */

/**
 * @param {() => number} [nowMono]  In ms.
 * @returns {Disk}
 */
export function createDisk(nowMono = () => performance.now()) {
  let isSlow = false;
  let quickOnes = 0;
  let running = 0;
  /** @type {(() => void)[]} */
  const waiting = [];

  /** @param {number} tookMs */
  function learn(tookMs) {
    quickOnes = tookMs < QUICK_MS ? quickOnes + 1 : 0;
    if (tookMs > SLOW_MS) isSlow = true;
    else if (quickOnes >= WELL_AFTER) isSlow = false;
  }

  return {
    isSlow: () => isSlow,
    writeNow(fd, bytes) {
      const startedMono = nowMono();
      try {
        return writeSync(fd, bytes);
      } finally {
        learn(nowMono() - startedMono);
      }
    },
    async writeLater(fd, bytes) {
      if (running < AT_ONCE_MAX) running += 1;
      else await new Promise((resolve) => waiting.push(() => resolve(undefined)));
      const startedMono = nowMono();
      try {
        return (await put(fd, bytes, 0, bytes.length, null)).bytesWritten;
      } finally {
        learn(nowMono() - startedMono);
        const next = waiting.shift();
        if (next) next();
        else running -= 1;
      }
    },
  };
}
