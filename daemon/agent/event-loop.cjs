// How long whatever is due has to wait for the event loop.
'use strict';

const { nowMono } = require('./isolation.cjs');

/** @import { Guard } from './isolation.cjs' */

const { cpuUsage } = process;
const { setImmediate, setInterval, clearInterval } = require('node:timers');

/**
 * Less than this is the timer's own inaccuracy: this part of the distance of two looks, but no more
 * than so many ms.
 */
const SURE_PART = 0.25;
const SURE_MS = 20;
/**
 * Who looks as often as this has a process that is at work: there the memory that it takes to ask
 * each time is nothing.
 */
const CLOSE_MS = 20;

/**
 * monitorEventLoopDelay() would do, but for its reset(), which forgets the delay that is just
 * ending.
 * @param {ReturnType<typeof createLoopLoad>} load
 * @param {Guard} guard
 * @param {(delayMs: number, nowMono: number) => void} onLook
 */
function createLoopSampler(load, guard, onLook) {
  let everyMs = 0;
  let lookedMono = 0;
  /**
   * How long the loop had been at work by then. Not asked for at each look: it is answered with an
   * object, and what an idle process allocates is memory that it touches.
   */
  let activeMs = 0;
  /** @type {NodeJS.Timeout | undefined} */
  let timer;

  const look = guard(() => {
    const now = nowMono();
    const lateMs = Math.max(0, now - lookedMono - everyMs);
    lookedMono = now;
    onLook(everyMs > CLOSE_MS && lateMs < SURE_MS ? lateMs : delayOf(lateMs), now);
  });

  /**
   * Who came late knows when it ended, and not when it began: at most one look earlier, and not for
   * longer than the loop was at work.
   * @param {number} lateMs
   */
  function delayOf(lateMs) {
    const active = load.activeMs();
    const workMs = active - activeMs;
    activeMs = active;
    return lateMs < Math.min(SURE_MS, SURE_PART * everyMs)
      ? lateMs
      : Math.max(lateMs, Math.min(workMs, lateMs + everyMs));
  }

  return {
    end: () => clearInterval(timer),
    /**
     * To be called now and then.
     * @param {number} ms  How often to look; 0 ends it.
     */
    look(ms) {
      activeMs = load.activeMs();
      if (ms === everyMs) return;
      clearInterval(timer);
      everyMs = ms;
      if (ms === 0) return;
      lookedMono = nowMono();
      timer = setInterval(look, ms).unref();
    },
  };
}

/**
 * How long the loop has been at work. Node knows it to the microsecond, but to ask loads modules
 * that take an idle process half a megabyte. As long as it hardly does anything the CPU that it has
 * used says nearly the same.
 * @param {Guard} guard
 */
function createLoopLoad(guard) {
  /** @type {typeof import('node:perf_hooks').performance | null} */
  let performance = null;
  /** Without CPU: what had to wait for one, or for a disk. */
  let waitedMs = 0;
  return {
    /**
     * A sum, of which only the difference of two means something. It begins anew with beExact().
     */
    activeMs: () => (performance === null ? cpuMs() + waitedMs : performance.eventLoopUtilization().active),
    /** The turn of the loop that has just begun is to be timed. */
    watchTurn() {
      const [beganMono, cpuBeforeMs] = [nowMono(), cpuMs()];
      // Comes when everything has been done that the system had to tell.
      setImmediate(
        guard(() => {
          waitedMs += Math.max(0, nowMono() - beganMono - (cpuMs() - cpuBeforeMs));
        }),
      );
    },
    isExact: () => performance !== null,
    beExact() {
      performance = require('node:perf_hooks').performance;
    },
  };
}

/** Of all its threads, since the process began. */
function cpuMs() {
  const { user, system } = cpuUsage();
  return (user + system) / 1_000;
}

module.exports = { createLoopSampler, createLoopLoad, cpuMs };
