import { readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createSettler } from './settler.js';

/** @import { Clock } from '../host/clock.js' */
/** @import { OpenWatcher } from './watcher.js' */
/** @import { Changes } from './settler.js' */
/** @import { WatchScope } from './watch-scope.js' */

/** How often it is looked whether the folders are still the same ones, in ms. */
const LOOK_MS = 1_000;

/** After an error everything is watched anew this many looks later: there may be room again. */
const LOOKS_UNTIL_AGAIN = 60;

/**
 * Watches for one app.
 * @typedef {object} AppWatch
 * @property {() => string[]} paths  What is watched.
 * @property {() => string|null} problem  In words, with what to do.
 * @property {() => boolean} isReady  Changes are seen.
 * @property {() => void} close
 */

/** What a path leads to: null when to nothing; another text when it is another folder. @typedef {(path: string) => Promise<string|null>} Identify */

/**
 * A folder that is not there yet, is made anew or is a link that leads elsewhere from now on is watched from then on: a watcher of the system belongs to
 * the folder and not to its name.
 * @param {WatchScope} scope
 * @param {object} o
 * @param {Clock} o.clock
 * @param {OpenWatcher} o.open
 * @param {Identify} [o.identify]
 * @param {Record<string, unknown>} o.options
 * @param {number} o.delayMs
 * @param {(changes: Changes) => void} o.onSettled
 * @returns {AppWatch}
 */
export function watchForApp(scope, { clock, open, identify = identityOf, options, delayMs, onSettled }) {
  const settler = createSettler({ clock, delayMs, onSettled });
  /** @type {Map<string, string|null>|null} */
  let known = null;
  /** @type {{close: () => void}|null} */
  let watcher = null;
  /** @type {NodeJS.ErrnoException|null} */
  let error = null;
  let isReady = false;
  let isLooking = false;
  let isClosed = false;
  let looksLeft = 0;

  /** @param {Map<string, string|null>} found */
  function openAnew(found) {
    watcher?.close();
    watcher = null;
    error = null;
    isReady = false;
    const roots = scope.roots.filter((root) => (found.get(root) ?? null) !== null);
    if (roots.length === 0) return;
    try {
      watcher = opened(roots, roots.map((root) => found.get(root) ?? null));
    } catch (fault) {
      onError(/** @type {NodeJS.ErrnoException} */ (fault)); // Options that the watcher does not take.
    }
  }

  /** @param {NodeJS.ErrnoException} fault */
  function onError(fault) {
    error ??= fault;
    looksLeft = LOOKS_UNTIL_AGAIN;
  }

  /** @param {string[]} roots @param {(string|null)[]} identities */
  function opened(roots, identities) {
    const mine = open({
      roots,
      identities,
      isIgnored: scope.isIgnored,
      options,
      onChange: (path) => settler.note(scope.nameOf(path)),
      onStir: settler.stir,
      onReady: () => {
        if (mine === watcher) isReady = true;
      },
      onError,
    });
    return mine;
  }

  async function look() {
    if (isLooking) return; // A disk that hangs.
    isLooking = true;
    const found = new Map(await Promise.all(scope.roots.map(async (root) => /** @type {const} */ ([root, await identify(root)]))));
    isLooking = false;
    if (isClosed) return;
    const before = known;
    known = found;
    const others = before ? scope.roots.filter((root) => found.get(root) !== before.get(root)) : [];
    const isRetried = error !== null && (looksLeft -= 1) <= 0;
    if (!before || others.length > 0 || isRetried) openAnew(found);
    for (const root of others) if (found.get(root) !== null) settler.note(scope.nameOf(root));
  }

  const cancel = clock.every(LOOK_MS, () => void look());
  void look();
  return {
    paths: () => scope.roots,
    isReady: () => isReady,
    problem() {
      if (error) return describe(error);
      const missing = scope.roots.find((root) => known && known.get(root) === null);
      if (missing) return `"${missing}" is not there; it is watched as soon as it is`;
      const restless = settler.restless();
      return restless ? `"${restless.file}" has been changing for ${Math.round(restless.forMs / 1000)}s without a pause, and it is reloaded in the first pause; if the app writes it, put it into ignore_watch` : null;
    },
    close() {
      isClosed = true;
      cancel();
      settler.close();
      watcher?.close();
    },
  };
}

/** @type {Identify} */
async function identityOf(path) {
  try {
    const found = await stat(path);
    // Editors replace a file when they save it, and whoever watches it sees that.
    return found.isDirectory() ? `${found.dev}:${found.ino}` : 'file';
  } catch {
    return null; // Missing, or behind a closed door: it cannot be watched.
  }
}

/** @param {NodeJS.ErrnoException} error */
function describe({ code, message }) {
  if (code === 'ENOSPC') return `the system watches no more files (${limitOf('max_user_watches')}); raise fs.inotify.max_user_watches with sysctl, watch fewer folders, or set usePolling in watch_options`;
  if (code === 'EMFILE') return `the system opens no more watchers (${limitOf('max_user_instances')}); raise fs.inotify.max_user_instances with sysctl`;
  return message;
}

/** @param {string} name */
function limitOf(name) {
  try {
    return `fs.inotify.${name} is ${readFileSync(`/proc/sys/fs/inotify/${name}`, 'latin1').trim()}`;
  } catch {
    return `fs.inotify.${name}`; // A system without /proc.
  }
}
