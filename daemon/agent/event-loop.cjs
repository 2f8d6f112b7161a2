// Measures the delay of the event loop, and how long it has been active.
'use strict';

const { nowMono } = require('./isolation.cjs');

/** @import { Isolation } from './isolation.cjs' */

const { cpuUsage } = process;
const { setImmediate, setInterval, clearInterval } = require('node:timers');

/** A delay below this part of the interval may be an inaccuracy of the timer. */
const SURE_PART = 0.25;
/** A delay of this length is never an inaccuracy of the timer. */
const SURE_MS = 20;
/** At this interval the process is busy, and the memory for asking the load each time is small. */
const CLOSE_MS = 20;

/**
 * Samples the delay of the event loop. reset() of monitorEventLoopDelay() would lose a delay that
 * is just ending.
 * @param {ReturnType<typeof createLoopLoad>} load
 * @param {Isolation} isolate
 * @param {(delayMs: number, nowMono: number) => void} onLook
 */
function createLoopSampler(load, isolate, onLook) {
  let everyMs = 0;
  let lookedMono = 0;
  /**
   * The load at the last sample that read it. Reading allocates an object, so it is not always
   * read.
   */
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
   * Estimates a delay from a late timer. The delay may have started before the timer was due: at
   * most one interval before, and it was not longer than the loop was active.
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
     * Must be called now and then.
     * @param {number} ms  Interval of the samples. 0 ends them.
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
 * Measures how long the loop has been active. Node.js knows it exactly, but the module for it takes
 * half a megabyte. While the process is nearly idle, its CPU time is almost the same.
 * @param {Isolation} isolate
 */
function createLoopLoad(isolate) {
  /** @type {typeof import('node:perf_hooks').performance | null} */
  let performance = null;
  /** Time that the loop was active without CPU: it waited for a core, or for a disk. */
  let waitedMs = 0;
  return {
    /** A sum. Only differences count, and not across beExact(). */
    activeMs: () => (performance === null ? cpuMs() + waitedMs : performance.eventLoopUtilization().active),
    /** Measures the turn of the loop that has just started. */
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

/** CPU time of all threads since the process began. */
function cpuMs() {
  const { user, system } = cpuUsage();
  return (user + system) / 1_000;
}

module.exports = { createLoopSampler, createLoopLoad, cpuMs };
