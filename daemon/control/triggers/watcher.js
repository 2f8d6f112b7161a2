import { createRequire } from 'node:module';
import { join } from 'node:path';

/** @import { Stats } from 'node:fs' */
/** @import { Globs } from './watch-scope.js' */

/**
 * @typedef {object} WatcherOptions
 * @property {string[]} roots  Existing paths.
 * @property {(string | null)[]} identities
 * @property {(path: string, stats?: Stats) => boolean} isIgnored
 * @property {Record<string, unknown>} options  For chokidar, as the user gave them.
 * @property {(path: string) => void} onChange
 * @property {() => void} onStir  A path may have changed; chokidar is still checking it.
 * @property {() => void} onReady  Changes are noticed from now on.
 * @property {(error: NodeJS.ErrnoException) => void} onError  Watching may continue.
 */

/** @typedef {(o: WatcherOptions) => { close: () => void }} OpenWatcher */

/** Options of chokidar that a user may set. Other options would break what nclust promises. */
const ALLOWED = [
  'usePolling',
  'interval',
  'binaryInterval',
  'alwaysStat',
  'depth',
  'followSymlinks',
  'awaitWriteFinish',
  'atomic',
  'ignorePermissionErrors',
];

/** chokidar is loaded on demand, because most homes do not watch. @type {OpenWatcher} */
export function openWatcher({ roots, isIgnored, options, onChange, onStir, onReady, onError }) {
  const require = createRequire(import.meta.url);
  const { watch } = /** @type {typeof import('chokidar')} */ (require('chokidar'));
  const given = Object.fromEntries(Object.entries(options).filter(([key]) => ALLOWED.includes(key)));
  const watcher = watch(roots, {
    ignorePermissionErrors: true,
    ...given,
    ignoreInitial: true,
    persistent: true,
    ignored: isIgnored,
  });
  watcher.on('all', (_event, path) => onChange(path));
  watcher.on('raw', (_event, name, about) => {
    const { watchedPath } = /** @type {{ watchedPath?: string }} */ (about ?? {});
    if (watchedPath && !isIgnored(join(watchedPath, String(name ?? '')))) onStir();
  });
  watcher.on('ready', onReady);
  watcher.on('error', (error) => onError(/** @type {NodeJS.ErrnoException} */ (error)));
  return { close: () => void watcher.close().catch(onError) };
}

/** @returns {Globs} */
export function loadGlobs() {
  const require = createRequire(import.meta.url);
  return /** @type {Globs} */ (require('picomatch'));
}

/** @typedef {{ members: Set<WatcherOptions>, isReady: boolean, close: () => void }} Shared */

/**
 * Apps share a watcher, because 200 watchers over one folder of 400 files took 600 MB and blocked
 * control.
 * @param {OpenWatcher} openWatcher
 * @returns {(key: string, o: WatcherOptions) => { close: () => void }}  Same key: same options.
 */
export function createSharedWatchers(openWatcher) {
  /** @type {Map<string, Shared>} */
  const open = new Map();

  /**
   * @param {string} key
   * @param {WatcherOptions} o
   */
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
        // After an error, the next attempt opens another watcher.
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
