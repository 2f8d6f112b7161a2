import { readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { placeOf, watchFileName } from './folder-watcher.js';

/** @import { Stats } from 'node:fs' */
/** @import { Cancel, Clock } from '../host/clock.js' */
/** @import { WatchScope } from './watch-scope.js' */
/** @import { OpenWatcher, Watcher } from './folder-watcher.js' */

/** Interval at which control checks the watched files, and whether a folder was replaced, in ms. */
const LOOK_MS = 1_000;

/** Number of checks after an error until control tries to watch again. */
const LOOKS_UNTIL_AGAIN = 60;

/**
 * @typedef {object} AppWatch
 * @property {() => string[]} paths
 * @property {() => string | null} problem  A message with advice.
 * @property {() => string | null} ended  The problem, if changes were noticed before and are not now.
 * @property {() => boolean} isReady
 * @property {() => void} close
 */

/**
 * Identifies a folder ("folder:..."), or a file and its state ("file:..."). If the text changes,
 * the path has changed. Null: the path does not exist.
 * @typedef {(path: string) => Promise<string | null>} Identify
 */

const FILE_STATS = /** @type {Stats} */ ({ isFile: () => true });

/**
 * Watches folders with chokidar. Compares what is at each path in any case, because a watch of the
 * system stays with the old file or folder after a replacement.
 * @param {WatchScope} scope
 * @param {object} o
 * @param {Clock} o.clock
 * @param {OpenWatcher} o.open
 * @param {typeof watchFileName} [o.openFile]
 * @param {Identify} [o.identify]
 * @param {Record<string, unknown>} o.options
 * @param {number} o.delayMs
 * @param {(changes: Changes) => void} o.onQuiet
 * @returns {AppWatch}
 */
export function watchForApp(
  scope,
  { clock, open, openFile = watchFileName, identify = readIdentity, options, delayMs, onQuiet },
) {
  const debounce = createDebounce({ clock, delayMs, onQuiet });
  /** @type {Map<string, string | null> | null} */
  let known = null;
  /** @type {Set<string>} */
  const existed = new Set();
  /** @type {Watcher | null} */
  let watcher = null;
  /** @type {(() => void)[]} */
  let closeFiles = [];
  /** Changes that are reported when the watcher is ready, so that it misses none. @type {string[]} */
  const unreported = [];
  /** @type {NodeJS.ErrnoException | null} */
  let error = null;
  let isReady = false;
  let isLooking = false;
  let isClosed = false;
  let looksLeft = 0;

  const isFile = (/** @type {string} */ root) => known?.get(root)?.startsWith('file:') ?? false;
  const isFolder = (/** @type {string} */ root) => known?.get(root)?.startsWith('folder:') ?? false;
  const report = () => unreported.splice(0).forEach((path) => debounce.note(scope.nameOf(path)));

  function reopen() {
    watcher?.close();
    watcher = null;
    error = null;
    const folders = scope.roots.filter(isFolder);
    isReady = folders.length === 0;
    if (isReady) return;
    try {
      watcher = opened(folders);
    } catch (fault) {
      onError(/** @type {NodeJS.ErrnoException} */ (fault)); // The watcher does not accept the options.
    }
  }

  function reopenFiles() {
    closeFiles.forEach((close) => close());
    const onStir = () => {
      debounce.stir();
      void look();
    };
    closeFiles = scope.roots.filter((root) => !isFolder(root)).map((file) => openFile(file, onStir));
  }

  /** @param {NodeJS.ErrnoException} fault */
  function onError(fault) {
    error ??= fault;
    looksLeft = LOOKS_UNTIL_AGAIN;
    report();
  }

  /** @param {string[]} roots */
  function opened(roots) {
    const mine = open({
      roots,
      identities: roots.map((root) => known?.get(root) ?? null),
      isIgnored: scope.isIgnored,
      options,
      // A watched folder may contain a file that is also watched by its own path.
      onChange: (path) => (isFile(path) ? void look() : debounce.note(scope.nameOf(path))),
      onStir: debounce.stir,
      onReady: () => {
        if (mine !== watcher) return;
        isReady = true;
        report();
      },
      onError,
    });
    return mine;
  }

  async function look() {
    if (isLooking) return; // The last check has not finished, because a disk hangs.
    isLooking = true;
    const [found, replaced] = await Promise.all([
      Promise.all(scope.roots.map(async (root) => /** @type {const} */ ([root, await identify(root)]))),
      watcher?.replaced() ?? [],
    ]);
    isLooking = false;
    if (isClosed) return;
    const before = known;
    const folders = scope.roots.filter(isFolder);
    known = new Map(found);
    for (const [root, identity] of found) if (identity !== null) existed.add(root);
    const changed = before ? scope.roots.filter((root) => known?.get(root) !== before.get(root)) : scope.roots;
    const isRetried = error !== null && (looksLeft -= 1) <= 0;
    const isElsewhere = changed.some((root) => isFolder(root) || folders.includes(root));
    if (!before || replaced.length > 0 || isElsewhere || isRetried) reopen();
    if (changed.some((root) => !isFolder(root))) reopenFiles();
    // A push() of all at once would throw, because a user may replace 200,000 folders.
    if (before) for (const path of [...changed.filter(isSeen), ...replaced]) unreported.push(path);
    if (isReady || error) report();
  }

  /** @param {string} root */
  const isSeen = (root) => known?.get(root) !== null && !(isFile(root) && scope.isIgnored(root, FILE_STATS));

  function ended() {
    if (error) return describe(error);
    const removed = scope.roots.find((root) => known?.get(root) === null && existed.has(root));
    return removed === undefined ? null : `"${removed}" was removed; it will be watched again once it exists`;
  }

  const cancel = clock.every(LOOK_MS, () => void look());
  void look();
  return {
    paths: () => scope.roots,
    isReady: () => isReady,
    problem() {
      const missing = scope.roots.find((root) => known && known.get(root) === null);
      const restless = debounce.restless();
      if (ended()) return ended();
      if (missing) return `"${missing}" does not exist; it will be watched once it does`;
      return restless
        ? `"${restless.file}" has been changing for ${Math.round(restless.forMs / 1000)}s without a pause; ` +
            `the app reloads at the first pause; if the app itself writes this file, add it to ignore_watch`
        : null;
    },
    ended,
    close() {
      isClosed = true;
      cancel();
      debounce.close();
      closeFiles.forEach((close) => close());
      watcher?.close();
    },
  };
}

/** @type {Identify} */
async function readIdentity(path) {
  try {
    const found = await stat(path);
    const { size, mtimeMs, ctimeMs } = found;
    return found.isDirectory() ? `folder:${placeOf(found)}` : `file:${placeOf(found)}:${size}:${mtimeMs}:${ctimeMs}`;
  } catch {
    return null;
  }
}

/** @param {NodeJS.ErrnoException} error */
function describe({ code, message }) {
  if (code === 'ENOSPC')
    return (
      `the system cannot watch more files (${getLimit('max_user_watches')}); raise ` +
      `fs.inotify.max_user_watches with sysctl, watch fewer folders, or set usePolling in watch_options`
    );
  if (code === 'EMFILE')
    return (
      `the system cannot open more watchers (${getLimit('max_user_instances')}); raise ` +
      `fs.inotify.max_user_instances with sysctl`
    );
  return message;
}

/** @param {string} name */
function getLimit(name) {
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
