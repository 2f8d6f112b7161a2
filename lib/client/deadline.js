/**
 * A point in time as a signal. (`AbortSignal.any` of a timeout can be collected as garbage before
 * it fires, on Node 20.)
 * @param {number} ms  From now on. It keeps no process alive.
 * @param {AbortSignal} [signal]  Comes first when it is aborted, with its reason.
 * @returns {{ signal: AbortSignal, release: () => void }}  The caller calls release() when it does
 *   not matter any more.
 */
export function createDeadline(ms, signal) {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), ms).unref();
  const onAbort = () => over.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) onAbort();
  return {
    signal: over.signal,
    release() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    },
  };
}
