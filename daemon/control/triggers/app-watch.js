import { readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';

/** @import { Cancel, Clock } from '../host/clock.js' */
/** @import { WatchScope } from './watch-scope.js' */
/** @import { OpenWatcher } from './watcher.js' */

/** How often it is looked whether the folders are still the same ones, in ms. */
const LOOK_MS = 1_000;

/** After an error everything is watched anew this many looks later: there may be room again. */
const LOOKS_UNTIL_AGAIN = 60;

/**
 * Watches for one app.
 * @typedef {object} AppWatch
 * @property {() => string[]} paths  What is watched.
 * @property {() => string | null} problem  In words, with what to do.
 * @property {() => boolean} isReady  Changes are seen.
 * @property {() => void} close
 */

/**
 * What a path leads to: null when to nothing; another text when it is another folder.
 * @typedef {(path: string) => Promise<string | null>} Identify
 */

/**
 * A folder that is not there yet, is made anew or is a link that leads elsewhere from now on is
 * watched from then on: a watcher of the system belongs to the folder and not to its name.
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
  const settler = createDebounce({ clock, delayMs, onSettled });
  /** @type {Map<string, string | null> | null} */
  let known = null;
  /** @type {{ close: () => void } | null} */
  let watcher = null;
  /** @type {NodeJS.ErrnoException | null} */
  let error = null;
  let isReady = false;
  let isLooking = false;
  let isClosed = false;
  let looksLeft = 0;

  /** @param {Map<string, string | null>} found */
  function openAnew(found) {
    watcher?.close();
    watcher = null;
    error = null;
    isReady = false;
    const roots = scope.roots.filter((root) => (found.get(root) ?? null) !== null);
    if (roots.length === 0) return;
    try {
      watcher = opened(
        roots,
        roots.map((root) => found.get(root) ?? null),
      );
    } catch (fault) {
      onError(/** @type {NodeJS.ErrnoException} */ (fault)); // Options that the watcher does not take.
    }
  }

  /** @param {NodeJS.ErrnoException} fault */
  function onError(fault) {
    error ??= fault;
    looksLeft = LOOKS_UNTIL_AGAIN;
  }

  /**
   * @param {string[]} roots
   * @param {(string | null)[]} identities
   */
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
    const found = new Map(
      await Promise.all(scope.roots.map(async (root) => /** @type {const} */ ([root, await identify(root)]))),
    );
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
      return restless
        ? `"${restless.file}" has been changing for ${Math.round(restless.forMs / 1000)}s without a pause, ` +
            `and it is reloaded in the first pause; if the app writes it, put it into ignore_watch`
        : null;
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
  if (code === 'ENOSPC')
    return (
      `the system watches no more files (${limitOf('max_user_watches')}); raise ` +
      `fs.inotify.max_user_watches with sysctl, watch fewer folders, or set usePolling in watch_options`
    );
  if (code === 'EMFILE')
    return (
      `the system opens no more watchers (${limitOf('max_user_instances')}); raise ` +
      `fs.inotify.max_user_instances with sysctl`
    );
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

/** A save in an editor is over after this, in ms. */
const QUIET_MS = 100;

/**
 * More changes than this are a checkout or a build. On a busy machine they were told with gaps of
 * 340 ms.
 */
const MANY = 10;
const QUIET_AFTER_MANY_MS = 500;

/** From one call to the next at least, in ms. */
const SPACING_MS = 1_000;

/**
 * Changes that go on for longer are no save and no checkout: something writes all the time, in ms.
 */
const RESTLESS_MS = 10_000;

/**
 * @typedef {{ file: string, count: number }} Changes  The last file that changed, and how many
 *   times anything did.
 */

/**
 * Makes one call of many changes: when there have been none for a while.
 * @typedef {object} Settler
 * @property {(file: string) => void} note  Something has changed.
 * @property {() => void} stir  Something may have; what has changed so far is not the end of it.
 * @property {() => { file: string, forMs: number } | null} restless  What has not come to rest for
 *   long. A loop of replacements would not help it, so nobody is called.
 * @property {() => void} close
 */

/**
 * @param {object} o
 * @param {Clock} o.clock
 * @param {number} o.delayMs  Without a change. 0: the default.
 * @param {(changes: Changes) => void} o.onSettled
 * @returns {Settler}
 */
export function createDebounce({ clock, delayMs, onSettled }) {
  let count = 0;
  let file = '';
  let firstMs = 0;
  let lastCallMs = -Infinity;
  /** @type {Cancel} */
  let cancel = () => {};

  function settle() {
    const changes = { file, count };
    count = 0;
    lastCallMs = clock.nowMs();
    onSettled(changes);
  }

  function wait() {
    const quietMs = Math.max(delayMs || QUIET_MS, count > MANY ? QUIET_AFTER_MANY_MS : 0);
    // No longer than it is, should the wall clock have been set back.
    const spacingMs = Math.min(SPACING_MS, Math.max(0, lastCallMs + SPACING_MS - clock.nowMs()));
    cancel();
    cancel = clock.after(Math.max(quietMs, spacingMs), settle);
  }

  return {
    note(changed) {
      if (count === 0) firstMs = clock.nowMs();
      count += 1;
      file = changed;
      wait();
    },
    stir() {
      if (count > 0) wait();
    },
    restless() {
      const forMs = clock.nowMs() - firstMs;
      return count > 0 && forMs > Math.max(RESTLESS_MS, 2 * delayMs) ? { file, forMs } : null;
    },
    close: () => cancel(),
  };
}
