'use strict';

const { nowMono } = require('./isolation.cjs');

/** @import { Isolation } from './isolation.cjs' */

const { cpuUsage } = process;
const { fstat } = require('node:fs');
const { setImmediate, setInterval, clearInterval } = require('node:timers');

/**
 * A delay below this part of the interval, and below SURE_MS, may be an inaccuracy of the timer.
 */
const SURE_PART = 0.25;
const SURE_MS = 20;
/**
 * If the interval is longer than this, the sampler does not read the load for a delay below
 * SURE_MS, because reading the load allocates an object.
 */
const CLOSE_MS = 20;

/**
 * Samples the delay with a timer. monitorEventLoopDelay() is not used, because its reset() would
 * lose a delay in progress.
 * @param {ReturnType<typeof createLoopLoad>} load
 * @param {Isolation} isolate
 * @param {(delayMs: number, nowMono: number) => void} onLook
 */
function createLoopSampler(load, isolate, onLook) {
  let everyMs = 0;
  let lookedMono = 0;
  let turnedMono = 0;
  /** The value of load.activeMs() at its last reading. */
  let activeMs = 0;
  /** @type {NodeJS.Timeout | undefined} */
  let timer;

  const look = isolate(() => {
    const now = nowMono();
    const lateMs = Math.max(0, now - lookedMono - everyMs);
    turnedMono = lookedMono;
    lookedMono = now;
    onLook(everyMs > CLOSE_MS && lateMs < SURE_MS ? lateMs : computeDelay(lateMs), now);
  });

  /**
   * Estimates the real delay. A delay may begin up to one interval before the timer is due, but
   * cannot be longer than the time in which the event loop was active.
   * @param {number} lateMs
   */
  function computeDelay(lateMs) {
    const active = load.activeMs();
    const workMs = active - activeMs;
    activeMs = active;
    return lateMs < Math.min(SURE_MS, SURE_PART * everyMs)
      ? lateMs
      : Math.max(lateMs, Math.min(workMs, lateMs + everyMs));
  }

  return {
    end: () => clearInterval(timer),
    /** A time since which the event loop has polled: callbacks that were due then have run. */
    turnedMono: () => turnedMono,
    /**
     * Call this regularly, because computeDelay() needs a recent active time.
     * @param {number} ms  New interval. 0 stops the sampling.
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
 * Measures how long the event loop was active. perf_hooks is exact, but takes half a megabyte. So
 * CPU time is used until beExact(), because in a nearly idle process it is almost the same.
 * @param {Isolation} isolate
 */
function createLoopLoad(isolate) {
  /** @type {typeof import('node:perf_hooks').performance | null} */
  let performance = null;
  /**
   * Time in which the event loop was active without using the CPU: it waited for a core or for a
   * disk.
   */
  let waitedMs = 0;
  return {
    /**
     * Returns the active time as a running total. Only the difference of two values has a meaning.
     * Do not compare a value from before beExact() with a value from after beExact().
     */
    activeMs: () => (performance === null ? cpuMs() + waitedMs : performance.eventLoopUtilization().active),
    watchTurn() {
      const [beganMono, cpuBeforeMs] = [nowMono(), cpuMs()];
      // setImmediate() runs after all callbacks of this poll of the event loop.
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

/** Any open descriptor. fstat() needs no permission, and no file system. */
const STDERR = 2;

/**
 * Measures how long the thread pool of libuv takes for a job. If its four threads wait, for example
 * for a dead NFS server, the event loop is idle, and other figures show nothing.
 * @param {Isolation} isolate
 */
function createPoolProbe(isolate) {
  /** @type {number | null} */
  let beganMono = null;
  const done = isolate(() => {
    beganMono = null;
  });
  return {
    begin() {
      if (beganMono !== null) return;
      beganMono = nowMono();
      fstat(STDERR, done);
    },
    /**
     * @param {number} turnedMono  See createLoopSampler(). After a block of the event loop, a
     *   finished job still has to call back.
     */
    waitMs: (turnedMono) => (beganMono === null ? 0 : Math.max(0, turnedMono - beganMono)),
  };
}

/** CPU time of all threads. */
function cpuMs() {
  const { user, system } = cpuUsage();
  return (user + system) / 1_000;
}

module.exports = { createLoopSampler, createLoopLoad, createPoolProbe, cpuMs };
