import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../daemon/control/host/clock.js';
import { watchForApp } from '../../../daemon/control/triggers/app-watch.js';
import { watchScope } from '../../../daemon/control/triggers/watch-scope.js';
import { createSharedWatchers, loadGlobs, openWatcher } from '../../../daemon/control/triggers/folder-watcher.js';
import { slowdown, waitFor } from '../../helpers/wait-for.js';

// Editors, builds and Kubernetes replace files and folders in many ways. A watch must notice each
// way, and also the next time.

/** Checks ten times as often as usual. */
const clock = { ...systemClock(), every: (ms, onTime) => systemClock().every(ms / 10, onTime) };

/** A change may be noticed twice, by chokidar and by the next check. */
const QUIET_MS = 500 * slowdown();

function folder() {
  const path = mkdtempSync(join(tmpdir(), 'nclust-watched-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return {
    path,
    at: (name) => join(path, name),
    write: (name, text) => writeFileSync(join(path, name), String(text)),
    make: (name) => mkdirSync(join(path, name), { recursive: true }),
    move: (from, to) => renameSync(join(path, from), join(path, to)),
    remove: (name) => rmSync(join(path, name), { recursive: true }),
    link: (target, name) => symlinkSync(target, join(path, name)),
  };
}

function watchPaths(cwd, watch, { share = createSharedWatchers(openWatcher), watchOptions = {} } = {}) {
  const scope = watchScope(
    { cwd, watch, ignoreWatch: [], watchExtensions: [], watchOptions },
    { globs: loadGlobs(), ownFolders: [], ownFiles: [] },
  );
  const calls = [];
  const watched = watchForApp(scope, {
    clock,
    open: (o) => share(JSON.stringify([watch, o.roots, o.identities]), o),
    options: watchOptions,
    delayMs: 1,
    onQuiet: ({ file }) => calls.push({ file, atMono: performance.now() }),
  });
  onTestFinished(() => watched.close());
  const isQuiet = () => performance.now() - (calls.at(-1)?.atMono ?? -Infinity) > QUIET_MS;
  return {
    ready: () => waitFor('a watch that is ready and quiet', () => watched.isReady() && isQuiet()),
    seen: (what, count) => waitFor(what, () => calls.length > count, { context: () => JSON.stringify(calls) }),
    count: () => calls.length,
    problem: watched.problem,
  };
}

/** The steps of the kubelet when a ConfigMap changes. */
function swap({ make, write, link, move, remove }, root, next) {
  make(`${root}/..${next}/sub`);
  write(`${root}/..${next}/c.json`, next);
  write(`${root}/..${next}/sub/d.json`, next);
  link(`..${next}`, `${root}/..data_tmp`);
  move(`${root}/..data_tmp`, `${root}/..data`);
  if (next > 0) remove(`${root}/..${next - 1}`);
}

function configMap(of) {
  of.make('cfg');
  swap(of, 'cfg', 0);
  of.link('..data/c.json', 'cfg/c.json');
  of.link('..data/sub', 'cfg/sub');
}

const file = (of) => void (of.make('d'), of.write('d/c.json', 0));
const linked = (of) =>
  void (file(of), of.make('d/v0'), of.write('d/v0/c.json', 0), of.link('v0/c.json', 'd/link.json'));
const relink = (of, target, name) => (of.link(target, 'next'), of.move('next', name));
const release = (of, n) => (of.make(`r${n}/lib`), of.write(`r${n}/lib/a.js`, 'same'), of.write(`r${n}/a.js`, 'same'));
const pathsOf = (of) => (release(of, 0), of.link('r0', 'current'), of.make('d'), of.link('../current/lib', 'd/lib'));

const inPlace = (of, n) => of.write('d/c.json', n);
const again = (of, n) => (of.remove('d/c.json'), of.write('d/c.json', n));
const otherFile = (of, n) => (of.move('d/c.json', 'd/c.json~'), of.write('d/c.json', n));
const awayAndBack = (of) => (of.move('d/c.json', 'c.json'), of.move('c.json', 'd/c.json'));
const over = (of, n) => (of.write('c.json', n), of.move('c.json', 'd/c.json'));
const newFolder = (of, n) => (of.remove('d'), of.make('d'), of.write('d/c.json', n));
const otherFolder = (of, n) => (of.make('e'), of.write('e/c.json', n), of.remove('d'), of.move('e', 'd'));
const switchFolder = (of, n) => (of.make('e'), of.write('e/c.json', n), of.move('d', `old${n}`), of.move('e', 'd'));

describe.concurrent('a watched path', () => {
  test.each([
    ['file, written', ['d/c.json'], file, inPlace],
    ['file, removed and written again', ['d/c.json'], file, again],
    ['file, moved away and another written', ['d/c.json'], file, otherFile],
    ['file, moved away and back', ['d/c.json'], file, awayAndBack],
    ['file, replaced', ['d/c.json'], file, over],
    ['file in a folder that was created again', ['d/c.json'], file, newFolder],
    ['file in a folder that was replaced', ['d/c.json'], file, switchFolder],
    ['file of a ConfigMap', ['cfg/c.json'], configMap, (of, n) => swap(of, 'cfg', n)],
    ['file of a folder of a ConfigMap', ['cfg/sub/d.json'], configMap, (of, n) => swap(of, 'cfg', n)],
    ['link to a file, written', ['d/link.json'], linked, (of, n) => of.write('d/v0/c.json', n)],
    [
      'link to a file that leads elsewhere',
      ['d/link.json'],
      linked,
      (of, n) => (of.write(`d/${n}`, ''), relink(of, `${n}`, 'd/link.json')),
    ],
    ['file behind two links', ['d/lib/a.js'], pathsOf, (of, n) => (release(of, n), relink(of, `r${n}`, 'current'))],
    ['folder, file written', ['d'], file, inPlace, 'd'],
    ['folder, file removed and written again', ['d'], file, again],
    ['folder, file moved away and another written', ['d'], file, otherFile],
    ['folder, file replaced', ['d'], file, over],
    ['folder, created again', ['d'], file, newFolder, 'd'],
    ['folder, replaced', ['d'], file, otherFolder, 'd'],
    ['folder, switched', ['d'], file, switchFolder, 'd'],
    ['folder of a ConfigMap', ['cfg'], configMap, (of, n) => swap(of, 'cfg', n), 'cfg/sub'],
    ['folder, folder in it created again', ['.'], file, newFolder, 'd'],
    ['folder, folder in it replaced', ['.'], file, otherFolder, 'd'],
    ['folder, folder in it switched', ['.'], file, switchFolder, 'd'],
    [
      'folder, folder in it behind two links',
      ['d'],
      pathsOf,
      (of, n) => (release(of, n), relink(of, `r${n}`, 'current')),
      'd/lib',
    ],
    [
      'link to a folder',
      ['current'],
      pathsOf,
      (of, n) => (release(of, n), relink(of, `r${n}`, 'current')),
      'current/lib',
    ],
    ['folder and a file in it', ['d', 'd/c.json'], file, over],
    ['glob', ['d/*.json'], file, again],
  ])('a watched %s, is noticed every time', async (_, paths, prepare, change, into) => {
    const of = folder();
    prepare(of);
    const watched = watchPaths(of.path, paths);
    for (const n of [1, 2]) {
      await watched.ready();
      const before = watched.count();
      change(of, n);
      await watched.seen(`change ${n}`, before);
      if (into === undefined) continue;
      await watched.ready();
      const later = watched.count();
      of.write(`${into}/new${n}`, n);
      await watched.seen(`a new file after change ${n}`, later);
    }
    await watched.ready();
    expect(watched.problem()).toBe(null);
  });

  test('a watched folder is noticed by each app that watches it, if their other paths differ', async () => {
    const of = folder();
    file(of);
    const share = createSharedWatchers(openWatcher);
    of.make('other');
    const all = [['d'], ['d', 'other'], ['.']].map((paths) => watchPaths(of.path, paths, { share }));
    const noticed = async (what, change) => {
      await Promise.all(all.map((one) => one.ready()));
      const before = all.map((one) => one.count());
      change();
      await Promise.all(all.map((one, at) => one.seen(`${what} by ${at}`, before[at])));
    };
    for (const replace of [newFolder, otherFolder, switchFolder]) {
      await noticed('the folder', () => replace(of, 1));
      await noticed('a new file', () => of.write('d/new', 1));
    }
  });

  test('a watched file that is gone is reported, and noticed when it is there again', async () => {
    const of = folder();
    file(of);
    const watched = watchPaths(of.path, ['d/c.json']);
    await watched.ready();
    unlinkSync(of.at('d/c.json'));
    await waitFor('the problem', () => watched.problem()?.includes('d/c.json" was removed'));
    expect(watched.count()).toBe(0);
    of.write('d/c.json', 1);
    await watched.seen('the new file', 0);
    expect(watched.problem()).toBe(null);
  });
});
