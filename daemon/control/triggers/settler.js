/** @import { Clock } from '../host/clock.js' */

/** A save in an editor is over after this, in ms. */
const QUIET_MS = 100;

/** More changes than this are a checkout or a build. On a busy machine they were told with gaps of 340 ms. */
const MANY = 10;
const QUIET_AFTER_MANY_MS = 500;

/** From one call to the next at least, in ms. */
const SPACING_MS = 1_000;

/** Changes that go on for longer are no save and no checkout: something writes all the time, in ms. */
const RESTLESS_MS = 10_000;

/** @typedef {{file: string, count: number}} Changes  The last file that changed, and how many times anything did. */

/**
 * Makes one call of many changes: when there have been none for a while.
 * @typedef {object} Settler
 * @property {(file: string) => void} note  Something has changed.
 * @property {() => void} stir  Something may have; what has changed so far is not the end of it.
 * @property {() => {file: string, forMs: number}|null} restless  What has not come to rest for long. A loop of replacements would not help it, so nobody is called.
 * @property {() => void} close
 */

/**
 * @param {object} o
 * @param {Clock} o.clock
 * @param {number} o.delayMs  Without a change. 0: the default.
 * @param {(changes: Changes) => void} o.onSettled
 * @returns {Settler}
 */
export function createSettler({ clock, delayMs, onSettled }) {
  let count = 0;
  let file = '';
  let firstMs = 0;
  let lastCallMs = -Infinity;
  /** @type {import('../host/clock.js').Cancel} */
  let cancel = () => {};

  function settle() {
    const changes = { file, count };
    count = 0;
    lastCallMs = clock.nowMs();
    onSettled(changes);
  }

  function wait() {
    const quietMs = Math.max(delayMs || QUIET_MS, count > MANY ? QUIET_AFTER_MANY_MS : 0);
    // No longer than it is, should the wall clock have been set back.
    const spacingMs = Math.min(SPACING_MS, Math.max(0, lastCallMs + SPACING_MS - clock.nowMs()));
    cancel();
    cancel = clock.after(Math.max(quietMs, spacingMs), settle);
  }

  return {
    note(changed) {
      if (count === 0) firstMs = clock.nowMs();
      count += 1;
      file = changed;
      wait();
    },
    stir() {
      if (count > 0) wait();
    },
    restless() {
      const forMs = clock.nowMs() - firstMs;
      return count > 0 && forMs > Math.max(RESTLESS_MS, 2 * delayMs) ? { file, forMs } : null;
    },
    close: () => cancel(),
  };
}
