import { write, writeSync } from 'node:fs';

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

  function ended() {
    running -= 1;
    waiting.shift()?.();
  }

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
        if (nowMono() - startedMono > SLOW_MS) {
          isSlow = true;
          quickOnes = 0;
        }
      }
    },
    writeLater(fd, bytes) {
      return new Promise((resolve, reject) => {
        const begin = () => {
          running += 1;
          const startedMono = nowMono();
          write(fd, bytes, 0, bytes.length, null, (error, written) => {
            learn(nowMono() - startedMono);
            ended();
            if (error) reject(error);
            else resolve(written);
          });
        };
        if (running < AT_ONCE_MAX) begin();
        else waiting.push(begin);
      });
    },
  };
}
