import { readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';

/** @import { Cancel, Clock } from '../host/clock.js' */
/** @import { WatchScope } from './watch-scope.js' */
/** @import { OpenWatcher } from './watcher.js' */

/** Interval at which control checks whether a watched folder was replaced, in ms. */
const LOOK_MS = 1_000;

/** Number of checks after an error until control tries to watch again. */
const LOOKS_UNTIL_AGAIN = 60;

/**
 * @typedef {object} AppWatch
 * @property {() => string[]} paths
 * @property {() => string | null} problem  A message with advice.
 * @property {() => boolean} isReady
 * @property {() => void} close
 */

/**
 * Identifies the folder at a path. If the text changes, another folder is at the path. Null: the
 * path does not exist.
 * @typedef {(path: string) => Promise<string | null>} Identify
 */

/**
 * Also notices that a folder was replaced, because a watcher of the system stays with the old
 * folder.
 * @param {WatchScope} scope
 * @param {object} o
 * @param {Clock} o.clock
 * @param {OpenWatcher} o.open
 * @param {Identify} [o.identify]
 * @param {Record<string, unknown>} o.options
 * @param {number} o.delayMs
 * @param {(changes: Changes) => void} o.onQuiet
 * @returns {AppWatch}
 */
export function watchForApp(scope, { clock, open, identify = identityOf, options, delayMs, onQuiet }) {
  const debounce = createDebounce({ clock, delayMs, onQuiet });
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
  function reopen(found) {
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
      onError(/** @type {NodeJS.ErrnoException} */ (fault)); // The watcher does not accept the options.
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
      onChange: (path) => debounce.note(scope.nameOf(path)),
      onStir: debounce.stir,
      onReady: () => {
        if (mine === watcher) isReady = true;
      },
      onError,
    });
    return mine;
  }

  async function look() {
    if (isLooking) return; // The last check has not finished, because a disk hangs.
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
    if (!before || others.length > 0 || isRetried) reopen(found);
    for (const root of others) if (found.get(root) !== null) debounce.note(scope.nameOf(root));
  }

  const cancel = clock.every(LOOK_MS, () => void look());
  void look();
  return {
    paths: () => scope.roots,
    isReady: () => isReady,
    problem() {
      if (error) return describe(error);
      const missing = scope.roots.find((root) => known && known.get(root) === null);
      if (missing) return `"${missing}" does not exist; it will be watched once it does`;
      const restless = debounce.restless();
      return restless
        ? `"${restless.file}" has been changing for ${Math.round(restless.forMs / 1000)}s without a pause; ` +
            `the app reloads at the first pause; if the app itself writes this file, add it to ignore_watch`
        : null;
    },
    close() {
      isClosed = true;
      cancel();
      debounce.close();
      watcher?.close();
    },
  };
}

/** @type {Identify} */
async function identityOf(path) {
  try {
    const found = await stat(path);
    // All files count as the same, because editors replace a file when they save it. The watcher
    // notices such a change.
    return found.isDirectory() ? `${found.dev}:${found.ino}` : 'file';
  } catch {
    return null;
  }
}

/** @param {NodeJS.ErrnoException} error */
function describe({ code, message }) {
  if (code === 'ENOSPC')
    return (
      `the system cannot watch more files (${limitOf('max_user_watches')}); raise ` +
      `fs.inotify.max_user_watches with sysctl, watch fewer folders, or set usePolling in watch_options`
    );
  if (code === 'EMFILE')
    return (
      `the system cannot open more watchers (${limitOf('max_user_instances')}); raise ` +
      `fs.inotify.max_user_instances with sysctl`
    );
  return message;
}

/** @param {string} name */
function limitOf(name) {
  try {
    return `fs.inotify.${name} is ${readFileSync(`/proc/sys/fs/inotify/${name}`, 'latin1').trim()}`;
  } catch {
    return `fs.inotify.${name}`; // The system has no /proc.
  }
}

/** A save in an editor is complete after this time. */
const QUIET_MS = 100;

/**
 * More changes than this come from a checkout or a build. Control then waits longer for the end of
 * the changes, because on a busy machine such changes come with gaps of 340 ms.
 */
const MANY = 10;
const QUIET_AFTER_MANY_MS = 500;

/** Least time between two calls of onQuiet(), in ms. */
const SPACING_MS = 1_000;

/** If changes continue for longer than this, a program writes all the time. */
const RESTLESS_MS = 10_000;

/** @typedef {{ file: string, count: number }} Changes */

/**
 * @typedef {object} Debounce
 * @property {(file: string) => void} note
 * @property {() => void} stir  Waits longer for the end of the changes,
 *   because a file may have changed. Does nothing if no change is waiting.
 * @property {() => { file: string, forMs: number } | null} restless  The file that keeps changing.
 * @property {() => void} close
 */

/**
 * @param {object} o
 * @param {Clock} o.clock
 * @param {number} o.delayMs  0: the default.
 * @param {(changes: Changes) => void} o.onQuiet
 * @returns {Debounce}
 */
export function createDebounce({ clock, delayMs, onQuiet }) {
  let count = 0;
  let file = '';
  let firstMs = 0;
  let lastCallMs = -Infinity;
  /** @type {Cancel} */
  let cancel = () => {};

  function fire() {
    const changes = { file, count };
    count = 0;
    lastCallMs = clock.nowMs();
    onQuiet(changes);
  }

  function wait() {
    const quietMs = Math.max(delayMs || QUIET_MS, count > MANY ? QUIET_AFTER_MANY_MS : 0);
    // The wall clock may have been set back, so the pause has an upper limit.
    const spacingMs = Math.min(SPACING_MS, Math.max(0, lastCallMs + SPACING_MS - clock.nowMs()));
    cancel();
    cancel = clock.after(Math.max(quietMs, spacingMs), fire);
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
