// How long whatever is due has to wait for the event loop.
'use strict';

const { performance } = globalThis;
const { setInterval, clearInterval } = globalThis;

/** Less than this is the timer's own inaccuracy. */
const SURE_MS = 20;

/**
 * monitorEventLoopDelay() would do, but for its reset(), which forgets the delay that is just ending.
 * @param {(delayMs: number, nowMono: number) => void} onLook
 */
function createLoopSampler(onLook) {
  let everyMs = 0;
  let lookedMono = 0;
  /** How long the loop had been at work by then. Not asked for at each look: it is answered with an object, and what an idle process allocates is memory that it touches. */
  let activeMs = 0;
  /** @type {NodeJS.Timeout | undefined} */
  let timer;

  function look() {
    const nowMono = performance.now();
    const lateMs = Math.max(0, nowMono - lookedMono - everyMs);
    lookedMono = nowMono;
    onLook(lateMs < SURE_MS ? lateMs : delayOf(lateMs), nowMono);
  }

  /** Who came late knows when it ended, and not when it began: at most one look earlier, and not for longer than the loop was at work. @param {number} lateMs */
  function delayOf(lateMs) {
    const { active } = performance.eventLoopUtilization();
    const delayMs = Math.max(lateMs, Math.min(active - activeMs, lateMs + everyMs));
    activeMs = active;
    return delayMs;
  }

  return {
    /** To be called now and then. @param {number} ms  How often to look; 0 ends it. */
    look(ms) {
      activeMs = performance.eventLoopUtilization().active;
      if (ms === everyMs) return;
      clearInterval(timer);
      everyMs = ms;
      if (ms === 0) return;
      lookedMono = performance.now();
      timer = setInterval(look, ms).unref();
    },
  };
}

module.exports = { createLoopSampler };
