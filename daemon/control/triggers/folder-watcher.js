import { watch as watchFolder } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';

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

/**
 * @typedef {object} Watcher
 * @property {() => Promise<string[]>} replaced  Folders and links below the roots that lead
 *   elsewhere now, if chokidar has not noticed it.
 * @property {() => void} close
 */

/** @typedef {(o: WatcherOptions) => Watcher} OpenWatcher */

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

/** @type {OpenWatcher} */
export function openWatcher({ roots, isIgnored, options, onChange, onStir, onReady, onError }) {
  const given = Object.fromEntries(Object.entries(options).filter(([key]) => ALLOWED.includes(key)));
  const places = createPlaces(given.followSymlinks !== false);
  const watcher = loadChokidar().watch(roots, {
    ignorePermissionErrors: true,
    ...given,
    ignoreInitial: true,
    persistent: true,
    ignored(path, stats) {
      const ignored = isIgnored(path, stats);
      if (!ignored && stats) places.found(path, stats);
      return ignored;
    },
  });
  watcher.on('all', (event, path, stats) => {
    places.followed(path, event.startsWith('unlink') ? undefined : stats);
    onChange(path);
  });
  watcher.on('raw', (event, name, about) => {
    if (event === 'rename') places.stir();
    const { watchedPath } = /** @type {{ watchedPath?: string }} */ (about ?? {});
    if (watchedPath && !isIgnored(join(watchedPath, String(name ?? '')))) onStir();
  });
  watcher.on('ready', onReady);
  watcher.on('error', (error) => onError(/** @type {NodeJS.ErrnoException} */ (error)));
  return { replaced: places.replaced, close: () => void watcher.close().catch(onError) };
}

/**
 * Loads a copy of chokidar for each watcher, because the watchers of a copy share what they have
 * opened. After a folder is replaced, they would share the watch of the old folder.
 * @returns {typeof import('chokidar')}
 */
function loadChokidar() {
  const require = createRequire(import.meta.url);
  const folder = dirname(require.resolve('chokidar'));
  for (const file of Object.keys(require.cache)) if (dirname(file) === folder) delete require.cache[file];
  return require('chokidar');
}

/** Other work goes between, because a user decides how many folders a watched folder has. */
const STATS_AT_ONCE = 500;

/** Links that a look checks, because node_modules of pnpm has thousands. */
const LINKS_PER_LOOK = 100;

/**
 * Remembers which folders chokidar watches, and where links lead. chokidar looks only at names, so
 * it misses a new folder that has the name of the old one.
 * @param {boolean} followsLinks
 */
export function createPlaces(followsLinks) {
  /** @type {Map<string, { identity: string | null, isLink: boolean }>} */
  const places = new Map();
  let isStirred = false;
  let nextLink = 0;

  /** A link may lead elsewhere without an event, because the change may be outside. */
  function takeLinks() {
    const links = [...places].filter(([, { isLink }]) => isLink).map(([path]) => path);
    const taken = links.slice(nextLink, nextLink + LINKS_PER_LOOK);
    nextLink = nextLink + LINKS_PER_LOOK < links.length ? nextLink + LINKS_PER_LOOK : 0;
    return taken;
  }

  return {
    /**
     * chokidar first shows the link itself, and then what it leads to.
     * @param {string} path
     * @param {Stats} stats
     */
    found(path, stats) {
      const place = places.get(path);
      if (stats.isSymbolicLink()) {
        if (followsLinks && !place) places.set(path, { identity: null, isLink: true });
      } else if (place ? place.identity === null : stats.isDirectory())
        places.set(path, { identity: placeOf(stats), isLink: place !== undefined });
    },
    /**
     * @param {string} path
     * @param {Stats | undefined} stats  Of what chokidar watches now. Not given: the path is gone.
     */
    followed(path, stats) {
      const isLink = places.get(path)?.isLink ?? false;
      if (!stats) places.delete(path);
      else if (isLink || stats.isDirectory()) places.set(path, { identity: placeOf(stats), isLink });
    },
    /** A folder may have been replaced. */
    stir() {
      isStirred = true;
    },
    async replaced() {
      const due = isStirred ? [...places.keys()] : takeLinks();
      isStirred = false;
      /** @type {string[]} */
      const paths = [];
      for (let at = 0; at < due.length; at += STATS_AT_ONCE) {
        const some = due.slice(at, at + STATS_AT_ONCE);
        const now = await Promise.all(some.map((path) => stat(path).then(placeOf, () => null)));
        for (const [nth, path] of some.entries()) {
          const place = places.get(path);
          if (place && now[nth] !== null && now[nth] !== place.identity) paths.push(path);
        }
      }
      isStirred ||= paths.length > 0; // The next user of this watcher gets the same answer.
      return paths;
    },
  };
}

/**
 * Includes the time of creation, because a new folder may get the inode of the old one.
 * @param {Stats} stats
 */
export function placeOf({ dev, ino, birthtimeMs }) {
  return `${dev}:${ino}:${birthtimeMs}`;
}

/**
 * Calls back when a file may have changed. Watches its folder, because a watch of the file itself
 * ends when the file is replaced.
 * @param {string} file
 * @param {() => void} onStir
 * @returns {() => void}  Closes the watch.
 */
export function watchFileName(file, onStir) {
  try {
    const watcher = watchFolder(dirname(file), (_event, name) => void (name === basename(file) && onStir()));
    // Without this watch, the check each second notices the change.
    watcher.on('error', () => watcher.close());
    return () => watcher.close();
  } catch {
    return () => {};
  }
}

/** @returns {Globs} */
export function loadGlobs() {
  const require = createRequire(import.meta.url);
  return /** @type {Globs} */ (require('picomatch'));
}

/** @typedef {Watcher & { members: Set<WatcherOptions>, isReady: boolean }} Shared */

/**
 * Apps share a watcher, because 200 watchers over one folder of 400 files took 600 MB and blocked
 * control.
 * @param {OpenWatcher} openWatcher
 * @returns {(key: string, o: WatcherOptions) => Watcher}  Same key: same options.
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
    const shared = { members, isReady: false, replaced: async () => [], close: () => {} };
    // After an error or a replaced folder, the next attempt opens another watcher.
    const retire = () => void (open.get(key) === shared && open.delete(key));
    const watcher = openWatcher({
      ...o,
      onChange: (path) => members.forEach((one) => one.onChange(path)),
      onStir: () => members.forEach((one) => one.onStir()),
      onReady() {
        shared.isReady = true;
        members.forEach((one) => one.onReady());
      },
      onError(error) {
        retire();
        members.forEach((one) => one.onError(error));
      },
    });
    shared.close = () => watcher.close();
    shared.replaced = async () => {
      const paths = await watcher.replaced();
      if (paths.length > 0) retire();
      return paths;
    };
    open.set(key, shared);
    return shared;
  }

  return (key, o) => {
    const known = open.get(key);
    const shared = known ?? begin(key, o);
    shared.members.add(o);
    if (known?.isReady) queueMicrotask(() => void (shared.members.has(o) && o.onReady()));
    return {
      replaced: shared.replaced,
      close() {
        if (!shared.members.delete(o) || shared.members.size > 0) return;
        if (open.get(key) === shared) open.delete(key);
        shared.close();
      },
    };
  };
}
