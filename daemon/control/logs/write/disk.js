import { write, writeSync } from 'node:fs';

/** A write that took longer has been waiting for the disk, in ms. */
const SLOW_MS = 50;

/** So many writes in a row, each done in a moment, say that the disk is well again. */
const WELL_AFTER = 20;
const QUICK_MS = 10;

/** Of the four threads that Node has for files: two are left for everything else. */
const AT_ONCE_MAX = 2;

/**
 * The disk that log files are on. While it is quick it is written to at once: what has been read
 * from a pipe is nowhere else. When a write had to wait the next ones are made by another thread,
 * so that a disk that hangs holds up logs and nothing else of control.
 * @typedef {object} Disk
 * @property {() => boolean} isSlow
 * @property {(fd: number, bytes: Buffer) => number} writeNow  Returns how many bytes. Throws what
 *   write(2) says.
 * @property {(fd: number, bytes: Buffer) => Promise<number>} writeLater  The bytes must stay as
 *   they are until then.
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
