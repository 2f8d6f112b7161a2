'use strict';

const { nowMono } = require('./isolation.cjs');

/** @import { Isolation } from './isolation.cjs' */

const { cpuUsage } = process;
const { setImmediate, setInterval, clearInterval } = require('node:timers');

/** A delay below this part of the interval may be an inaccuracy of the timer. */
const SURE_PART = 0.25;
const SURE_MS = 20;
/** Above this interval only a long delay reads the load, because reading allocates an object. */
const CLOSE_MS = 20;

/**
 * Not monitorEventLoopDelay(), because its reset() would lose a delay that is just ending.
 * @param {ReturnType<typeof createLoopLoad>} load
 * @param {Isolation} isolate
 * @param {(delayMs: number, nowMono: number) => void} onLook
 */
function createLoopSampler(load, isolate, onLook) {
  let everyMs = 0;
  let lookedMono = 0;
  /** At the last sample that read it. */
  let activeMs = 0;
  /** @type {NodeJS.Timeout | undefined} */
  let timer;

  const look = isolate(() => {
    const now = nowMono();
    const lateMs = Math.max(0, now - lookedMono - everyMs);
    lookedMono = now;
    onLook(everyMs > CLOSE_MS && lateMs < SURE_MS ? lateMs : delayOf(lateMs), now);
  });

  /**
   * A delay may begin up to one interval before the timer is due. It fits into the active time.
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
     * Must be called regularly, because delayOf() needs a recent active time.
     * @param {number} ms  0 ends the samples.
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
 * perf_hooks is exact, but takes half a megabyte. CPU time is almost the same when nearly idle.
 * @param {Isolation} isolate
 */
function createLoopLoad(isolate) {
  /** @type {typeof import('node:perf_hooks').performance | null} */
  let performance = null;
  /** Active without CPU: waiting for a core, or for a disk. */
  let waitedMs = 0;
  return {
    /** A sum. Only differences count, and not across beExact(). */
    activeMs: () => (performance === null ? cpuMs() + waitedMs : performance.eventLoopUtilization().active),
    watchTurn() {
      const [beganMono, cpuBeforeMs] = [nowMono(), cpuMs()];
      // Runs after all callbacks of this poll.
      setImmediate(
        isolate(() => {
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

/** Of all threads. */
function cpuMs() {
  const { user, system } = cpuUsage();
  return (user + system) / 1_000;
}

module.exports = { createLoopSampler, createLoopLoad, cpuMs };
