/** Like `after` of control's clock. @type {(ms: number, onTime: () => void) => () => void} */
export const afterMs = (ms, onTime) => {
  const timer = setTimeout(onTime, ms);
  return () => clearTimeout(timer);
};

/**
 * Waits for the promise, but at most `ms`. A later rejection of the promise is ignored.
 * @template T, [L=never]
 * @param {number} ms
 * @param {Promise<T>} promise
 * @param {() => L} onLate  Returns the result, or throws the error.
 * @param {typeof afterMs} [after]  Starts the timer, and returns a function that cancels it.
 * @returns {Promise<T | L>}
 */
export async function withDeadline(ms, promise, onLate, after = afterMs) {
  /** @type {() => void} */
  let cancel = () => {};
  const late = new Promise((resolve) => {
    cancel = after(ms, () => resolve(undefined));
  });
  try {
    return await Promise.race([promise, late.then(onLate)]);
  } finally {
    cancel();
  }
}

/**
 * @param {AbortSignal} signal
 * @returns {Promise<never>}
 */
export function rejectOnAbort(signal) {
  return new Promise((_, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}
