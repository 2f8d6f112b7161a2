'use strict';

/**
 * Calls `then` when the channel closes. After that, process.send() does nothing instead of
 * throwing.
 * @param {() => void} then
 * @returns {() => void}  Call this function if the channel closes without a 'disconnect'.
 */
function whenDisconnected(then) {
  let isLost = false;
  const lose = () => {
    if (isLost) return;
    isLost = true;
    try {
      process.send = sendNowhere;
    } catch {
      // The app has made process.send read-only.
    }
    then();
  };
  process.prependOnceListener('disconnect', lose);
  // Without this call, the listener for 'disconnect' would keep the process alive.
  refCounter()?.unrefCounted?.();
  return lose;
}

/**
 * Returns an object with the reference counter of the channel. While the counter is above 0, the
 * channel keeps the process alive. ref() and unref() are not used, because they would overrule the
 * app.
 */
function refCounter() {
  return /** @type {{ refCounted?: () => void, unrefCounted?: () => void } | undefined} */ (
    /** @type {unknown} */ (process.channel)
  );
}

/** @param {unknown[]} args */
function sendNowhere(...args) {
  const callback = args.find((arg) => typeof arg === 'function');
  if (callback) process.nextTick(callback, null);
  return false;
}

module.exports = { refCounter, whenDisconnected };
