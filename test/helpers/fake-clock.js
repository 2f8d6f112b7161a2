/** @import { Clock } from '../../daemon/control/host/clock.js' */

/**
 * @typedef {object} Hands
 * @property {() => number} nowMono
 * @property {(ms: number) => void} advance
 * @property {() => number} pending
 * @property {() => number} untilNextMs
 * @property {(ms: number) => void} setBack
 */

/** @typedef {Clock & Hands} FakeClock */

/**
 * @param {number} [startMs]
 * @returns {FakeClock}
 */
export function createFakeClock(startMs = 1_700_000_000_000) {
  let wallMs = startMs;
  let mono = 0;
  let order = 0;
  /** @type {Map<number, { at: number, everyMs: number | null, onTime: () => void }>} */
  const timers = new Map();

  /**
   * @param {number} ms
   * @param {() => void} onTime
   * @param {number | null} everyMs
   */
  function add(ms, onTime, everyMs) {
    const id = order++;
    timers.set(id, { at: mono + ms, everyMs, onTime });
    return () => void timers.delete(id);
  }

  return {
    nowMs: () => wallMs,
    nowMono: () => mono,
    after: (ms, onTime) => add(ms, onTime, null),
    every: (ms, onTime) => add(ms, onTime, ms),
    advance(ms) {
      const end = mono + ms;
      for (;;) {
        const due = [...timers]
          .filter(([, timer]) => timer.at <= end)
          .sort(([a, x], [b, y]) => x.at - y.at || a - b)[0];
        if (!due) break;
        const [id, timer] = due;
        wallMs += timer.at - mono;
        mono = timer.at;
        if (timer.everyMs === null) timers.delete(id);
        else timer.at += timer.everyMs;
        timer.onTime();
      }
      wallMs += end - mono;
      mono = end;
    },
    pending: () => timers.size,
    untilNextMs: () => Math.min(Infinity, ...[...timers.values()].map((timer) => timer.at - mono)),
    /** Sets the wall clock back by `ms`. Timers do not change. */
    setBack(ms) {
      wallMs -= ms;
    },
  };
}
