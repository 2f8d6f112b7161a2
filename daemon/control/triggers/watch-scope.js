import { basename, dirname, extname, isAbsolute, relative, resolve, sep } from 'node:path';
import { readWatchPattern } from '../../../lib/app-spec/watch-pattern.js';

/** @import { Stats } from 'node:fs' */
/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { WatchPattern } from '../../../lib/app-spec/watch-pattern.js' */

/**
 * @typedef {Pick<AppSpec, 'cwd' | 'watch' | 'ignoreWatch' | 'watchExtensions' | 'watchOptions'>}
 *   WatchOptions
 */

/**
 * @typedef {{
 *   (glob: string, options?: object): (text: string) => boolean,
 *   scan: (glob: string) => { base: string, isGlob: boolean },
 * }} Globs
 */

/**
 * @typedef {object} WatchScope
 * @property {string[]} roots  Absolute paths.
 * @property {string[]} ownFiles  Log and pid files of the app within the watched paths.
 * @property {(path: string, stats?: Stats) => boolean} isIgnored
 * @property {(path: string) => string} nameOf
 */

/**
 * @param {WatchOptions} options
 * @param {object} o
 * @param {Globs} o.globs
 * @param {string[]} o.ownFolders  The manager's folders: changes in them do not count.
 * @param {string[]} o.ownFiles  Log and pid files of the app: changes in them, and in the rotated
 *   segments of logs, do not count.
 * @returns {WatchScope}
 */
export function watchScope(
  { cwd, watch, ignoreWatch, watchExtensions, watchOptions },
  { globs, ownFolders, ownFiles },
) {
  const entries = watch.filter((text) => !text.startsWith('!')).map((text) => getEntry(text, cwd, globs));
  const roots = [...new Set(entries.map(({ root }) => root))];
  const patterns = [
    ...ignoreWatch,
    ...listTexts(watchOptions.ignored),
    ...watch.filter((text) => text.startsWith('!')).map((text) => text.slice(1)),
  ].flatMap((text) => readWatchPattern(text) ?? []);
  const matchers = patterns.map((pattern) => ({
    matches: createMatcher(pattern, cwd, globs),
    isException: pattern.isException,
  }));
  const isOwn = ownership(
    ownFolders.filter((folder) => !roots.some((root) => isIn(root, folder))),
    ownFiles,
  );
  const endings = new Set(watchExtensions.map((word) => `.${word}`));

  return {
    roots,
    ownFiles: ownFiles.filter((file) => roots.some((root) => isIn(file, root))),
    nameOf: (path) => (isIn(path, cwd) ? relative(cwd, path) || '.' : path),
    isIgnored(path, stats) {
      const holders = entries.filter(({ root }) => isIn(path, root));
      if (isOwn(path) || holders.length === 0) return true;
      const below = holders
        .map(({ root }) => relative(root, path))
        .reduce((one, other) => (other.length < one.length ? other : one));
      if (below.split(sep).some((part) => part === 'node_modules' || (part.startsWith('.') && part !== '.')))
        return true;
      if (
        matchers.some(({ matches, isException }) => !isException && matches(path, below)) &&
        !matchers.some(({ matches, isException }) => isException && matches(path, below))
      )
        return true;
      if (!stats?.isFile()) return false;
      return (endings.size > 0 && !endings.has(extname(path))) || !holders.some(({ accepts }) => accepts(path));
    },
  };
}

/**
 * For a glob, control watches the folder with which the glob begins, and matches the files in it.
 * @param {string} text
 * @param {string} cwd
 * @param {Globs} globs
 */
function getEntry(text, cwd, globs) {
  const { base, isGlob } = globs.scan(text);
  if (!isGlob) return { root: resolve(cwd, text), accepts: () => true };
  const root = resolve(cwd, base);
  const rest = globs(text.slice(base.length).replace(/^\/+/, ''));
  return { root, accepts: (/** @type {string} */ path) => rest(relative(root, path)) };
}

/**
 * @param {WatchPattern} pattern
 * @param {string} cwd
 * @param {Globs} globs
 * @returns {(path: string, below: string) => boolean}  `below`: relative to the watched path.
 */
function createMatcher(pattern, cwd, globs) {
  if (pattern.kind === 'regex') return (path) => pattern.regex.test(isIn(path, cwd) ? `/${relative(cwd, path)}` : path);
  const matches = globs(pattern.glob, { dot: true });
  if (pattern.kind === 'name') return (_path, below) => below.split(sep).some((part) => matches(part));
  return (path) => {
    const text = isAbsolute(pattern.glob) ? path : relative(cwd, path);
    return matches(text) || text === pattern.glob || text.startsWith(`${pattern.glob}${sep}`);
  };
}

/**
 * @param {string[]} folders
 * @param {string[]} files
 * @returns {(path: string) => boolean}
 */
function ownership(folders, files) {
  const places = files
    .filter((file) => file !== '')
    .map((file) => ({ folder: dirname(file), stem: basename(file, extname(file)), file }));
  return (path) => {
    // A path of the manager with an added ending also belongs to the manager, for example
    // state.json.bak.
    if (folders.some((folder) => isIn(path, folder) || path.startsWith(`${folder}.`))) return true;
    // Examples: app-out.log and its segment app-out__2026-01-31T10-00-00-000Z.log.gz.
    return places.some(
      ({ file, folder, stem }) => path === file || (dirname(path) === folder && basename(path).startsWith(`${stem}__`)),
    );
  };
}

/** @param {unknown} given  `ignored` of chokidar: one or several. */
function listTexts(given) {
  return (Array.isArray(given) ? given : [given]).filter((one) => typeof one === 'string');
}

/**
 * @param {string} path
 * @param {string} folder
 */
function isIn(path, folder) {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}
