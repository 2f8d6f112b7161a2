/** @import { OpenWatcher, WatcherOptions } from './watcher.js' */

/** @typedef {{members: Set<WatcherOptions>, isReady: boolean, close: () => void}} Shared */

/**
 * Apps that watch the same share a watcher: 200 of them over one folder of 400 files took 600 MB, and held up control for ten seconds.
 * @param {OpenWatcher} openWatcher
 * @returns {(key: string, o: WatcherOptions) => {close: () => void}}  Whoever gives the same key wants the same. Throws what the watcher does.
 */
export function createSharedWatchers(openWatcher) {
  /** @type {Map<string, Shared>} */
  const open = new Map();

  /** @param {string} key @param {WatcherOptions} o @returns {Shared} */
  function begin(key, o) {
    const members = new Set([o]);
    /** @type {Shared} */
    const shared = { members, isReady: false, close: () => {} };
    const watcher = openWatcher({
      ...o,
      onChange: (path) => members.forEach((one) => one.onChange(path)),
      onStir: () => members.forEach((one) => one.onStir()),
      onReady() {
        shared.isReady = true;
        members.forEach((one) => one.onReady());
      },
      onError(error) {
        // Who tries again gets another one.
        if (open.get(key) === shared) open.delete(key);
        members.forEach((one) => one.onError(error));
      },
    });
    shared.close = () => watcher.close();
    open.set(key, shared);
    return shared;
  }

  return (key, o) => {
    const known = open.get(key);
    const shared = known ?? begin(key, o);
    shared.members.add(o);
    if (known?.isReady) queueMicrotask(() => void (shared.members.has(o) && o.onReady()));
    return {
      close() {
        if (!shared.members.delete(o) || shared.members.size > 0) return;
        if (open.get(key) === shared) open.delete(key);
        shared.close();
      },
    };
  };
}
