import { logFiles } from '../spawn/params.js';
import { pidFilePath } from '../status/pid-files.js';
import { watchForApp } from './app-watch.js';
import { watchScope } from './watch-scope.js';
import { createSharedWatchers, loadGlobs } from './folder-watcher.js';

/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { WatchShown } from '../../../lib/shared/wire/protocol.js' */
/** @import { ApiContext } from '../context.js' */
/** @import { DesiredApp } from '../state/desired.js' */
/** @import { AppWatch, Identify } from './app-watch.js' */
/** @import { WatchScope } from './watch-scope.js' */
/** @import { OpenWatcher, WatcherOptions } from './folder-watcher.js' */

/**
 * @typedef {object} Watches
 * @property {(apps: DesiredApp[]) => void} sync
 * @property {(name: string) => WatchShown | null} describe
 * @property {() => string[]} notices  One for each app that is no longer watched as its user wants.
 * @property {() => void} close
 */

/**
 * @param {object} o
 * @param {Pick<ApiContext, 'parts' | 'paths'>} o.context
 * @param {OpenWatcher} o.openWatcher
 * @param {Identify} [o.identify]
 * @param {(name: string, reason: string) => void} o.onQuiet
 * @returns {Watches}
 */
export function createWatches({ context: { parts, paths }, openWatcher, identify, onQuiet }) {
  /** @type {Map<string, { key: string, watch: AppWatch }>} */
  const entries = new Map();
  const share = createSharedWatchers(openWatcher);

  /**
   * @param {DesiredApp} app
   * @returns {AppWatch}
   */
  function begin(app) {
    try {
      return open(app);
    } catch (error) {
      // A failed watch must not stop the other effects of a change. Otherwise the manager could
      // never use this home again, because the watch would fail at each start.
      const { message } = /** @type {Error} */ (error);
      parts.managerLog('watch-failed', { app: app.spec.name, message });
      const problem = () => message;
      return { paths: () => app.spec.watch, isReady: () => false, problem, ended: problem, close() {} };
    }
  }

  /** @param {DesiredApp} app */
  function open({ spec, slots }) {
    const files = slots.flatMap(({ id }) => [
      ...Object.values(logFiles(spec, id, paths.logs)),
      pidFilePath(spec, id, paths.pids),
    ]);
    const scope = watchScope(spec, {
      globs: loadGlobs(),
      ownFolders: [paths.home, ...homeFiles(paths)],
      ownFiles: [...new Set(files)],
    });
    return watchForApp(scope, {
      clock: parts.clock,
      open: (o) => share(getWatcherKey(spec, scope, o), o),
      identify,
      options: spec.watchOptions,
      delayMs: spec.watchDelayMs,
      onQuiet: ({ file, count }) => onQuiet(spec.name, `${file} changed${count > 1 ? `, and ${count - 1} more` : ''}`),
    });
  }

  return {
    sync(apps) {
      const wanted = new Map(apps.map((app) => [app.spec.name, app]));
      for (const [name, { key, watch }] of entries) {
        const app = wanted.get(name);
        if (app && getKey(app) === key) continue;
        watch.close();
        entries.delete(name);
      }
      for (const [name, app] of wanted)
        if (!entries.has(name)) entries.set(name, { key: getKey(app), watch: begin(app) });
    },
    describe(name) {
      const watch = entries.get(name)?.watch;
      return watch ? { paths: watch.paths(), isReady: watch.isReady(), problem: watch.problem() } : null;
    },
    notices: () =>
      [...entries].flatMap(([name, { watch }]) => {
        const ended = watch.ended();
        return ended === null ? [] : [`The watch of "${name}" is incomplete: ${ended}`];
      }),
    close() {
      for (const { watch } of entries.values()) watch.close();
      entries.clear();
    },
  };
}

/**
 * If the key changes, watching starts again.
 * @param {DesiredApp} app
 */
function getKey({ spec, slots }) {
  const { watchDelayMs, outFile, errorFile, logFile, pidFile } = spec;
  const ids = slots.map(({ id }) => id);
  return JSON.stringify([...scopeFields(spec), watchDelayMs, outFile, errorFile, logFile, pidFile, ids]);
}

/**
 * Apps with the same key share a watcher.
 * @param {DesiredApp['spec']} spec
 * @param {WatchScope} scope
 * @param {WatcherOptions} o
 */
function getWatcherKey(spec, { ownFiles }, { roots, identities }) {
  return JSON.stringify([...scopeFields(spec), ownFiles, roots, identities]);
}

/** @param {AppSpec} spec */
function scopeFields({ cwd, watch, ignoreWatch, watchExtensions, watchOptions }) {
  return [cwd, watch, ignoreWatch, watchExtensions, watchOptions];
}

/**
 * Returns the paths of the manager without the home. Changes in these paths do not count, even if
 * an app watches the home itself.
 * @param {ApiContext['paths']} paths
 */
function homeFiles({ home: _, ...others }) {
  return Object.values(others);
}

/**
 * If an app has never watched a path, `restart --watch` watches its working directory.
 * @param {AppSpec} spec
 * @returns {AppSpec}
 */
export function toggleWatch(spec) {
  return spec.watch.length === 0 ? { ...spec, watch: ['.'], watchOff: false } : { ...spec, watchOff: !spec.watchOff };
}

/**
 * @param {AppSpec} spec
 * @returns {AppSpec}
 */
export function stopWatching(spec) {
  return { ...spec, watchOff: spec.watch.length > 0 };
}

/**
 * If a change sets paths to watch, it also turns watching on.
 * @param {Partial<AppSpec>} fields
 */
export function switchWatching(fields) {
  return fields.watch === undefined || fields.watchOff !== undefined ? fields : { ...fields, watchOff: false };
}
