// What was allocated to start thirty apps is garbage when they run, and a process at rest collects
// nothing by itself. See daemon/control/host/idle-gc.js.
import { setFlagsFromString } from 'node:v8';

const REST_MS = 2_000;

/**
 * @returns {() => void}  To be called when something has been done. Some seconds after the last
 *   time what it has left behind is collected.
 */
export function createTidy() {
  /** @type {NodeJS.Timeout | null} */
  let timer = null;
  return () => {
    timer ??= setTimeout(collectNow, REST_MS).unref();
    timer.refresh();
  };
}

function collectNow() {
  if (!globalThis.gc) return;
  setFlagsFromString('--compact-on-every-full-gc');
  globalThis.gc();
  setFlagsFromString('--no-compact-on-every-full-gc');
}
