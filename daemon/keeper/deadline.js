/**
 * A moment after which something is no longer waited for. It can be brought forward, never put off.
 * @param {number} ms  From now.
 */
export function createDeadline(ms) {
  /** @type {() => void} */
  let resolve = () => {};
  const passed = new Promise((done) => {
    resolve = () => done(undefined);
  });
  let atMono = performance.now() + ms;
  let timer = setTimeout(resolve, ms);
  return {
    passed,
    /** @param {number} laterMs  From now. */
    bringForward(laterMs) {
      if (performance.now() + laterMs >= atMono) return;
      atMono = performance.now() + laterMs;
      clearTimeout(timer);
      timer = setTimeout(resolve, laterMs);
    },
    remainingMs: () => Math.max(0, atMono - performance.now()),
    clear: () => clearTimeout(timer),
  };
}

/** @typedef {ReturnType<typeof createDeadline>} Deadline */
