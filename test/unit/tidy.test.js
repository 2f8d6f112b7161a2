import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commentsOf, importsOf, sourceFiles } from '../helpers/source-tree.js';

const COLUMNS_MAX = 120;
const PROSE_COLUMNS_MAX = 100;
const LINES_MAX = 350;
const LINES_OF_A_PART = 30;
const FILES_MIN = 2;
const FILES_MAX = 25;

/** Programs that another process, the package or a browser starts, and the shared types. */
const ENTRIES = [
  'bin/nclust.js',
  'daemon/agent/agent.cjs',
  'daemon/agent/tree/preload.cjs',
  'daemon/control/context.js',
  'daemon/control/main.js',
  'daemon/control/web/page/app.js',
  'daemon/keeper/host/pipe-maker.js',
  'daemon/keeper/main.js',
  'lib/config/evaluation/force-format.js',
  'lib/config/evaluation/main.js',
  'lib/index.js',
  'lib/pm2.cjs',
  'lib/serve/main.js',
];

/**
 * Short files with one importer, and why they are separate. The list can only shrink, because a
 * test fails if an entry is not needed.
 * @type {Record<string, string>}
 */
const SMALL = {
  'lib/commands/examples.js': 'a command',
  'lib/config/define-config.js': 'what a config file imports, without the rest',
};

/** Names that are not files of this project: files of Node.js, and examples. */
const ELSEWHERE = /^(Node|(lib\/)?net|lib\/internal\/.+|src\/a|index-BfX2aZ9k)\.js$/;

/**
 * Unit tests that read the real clock, and why. Any other test gives its clock to the code, because
 * a machine that stops for a while must turn no test red.
 * @type {Record<string, string>}
 */
const REAL_CLOCK = {
  'test/unit/agent/balance.test.js': 'the agent has the clock of its process',
  'test/unit/agent/half-close.test.js': 'blocks the event loop',
  'test/unit/agent/http-counts.test.js': 'blocks the event loop',
  'test/unit/control/api/logs.test.js': 'files get their times from the system',
  'test/unit/control/host/clock.test.js': 'tests the clock',
  'test/unit/control/logs/log-rig.js': 'files get their times from the system',
  'test/unit/control/metrics/activity.test.js': 'keeps a process busy',
  'test/unit/control/metrics/usage-of-real-processes.test.js': 'compares with CPU times of the system',
  'test/unit/keeper/home.test.js': 'files get their times from the system',
  'test/unit/lib/cli/hostile-world.test.js': 'the time is part of an event',
  'test/unit/lib/monit/layout.test.js': 'only a hang takes as long',
  'test/unit/lib/shared/logs/filter.test.js': 'only a hang takes as long',
};

const files = sourceFiles('bin', 'lib', 'daemon');
const others = sourceFiles('test', 'docs');
const importers = importersOf(files);

describe('format', () => {
  test('a unit test does not read the real clock, unless the list has a reason', () => {
    const reading = others.filter(
      ({ path, text }) =>
        path.startsWith('test/unit/') &&
        path !== 'test/unit/tidy.test.js' &&
        /Date\.now\(|performance\.now\(/.test(text),
    );
    expect(reading.map(({ path }) => path).sort()).toEqual(Object.keys(REAL_CLOCK).sort());
  });

  test(`no line of code has more than ${COLUMNS_MAX} columns`, () => {
    expect(
      linesOf(/\.(c|m)?(js|ts)$/)
        .filter(({ line }) => line.length > COLUMNS_MAX)
        .map(placeOf),
    ).toEqual([]);
  });

  test(`no comment has more than ${PROSE_COLUMNS_MAX} columns`, () => {
    const isComment = /^\s*(\/\/|\*)\s(?!\s*(@|\||\{))/;
    const tooLong = linesOf(/\.(c|m)?(js|ts)$/).filter(
      ({ line }) => isComment.test(line) && line.length > PROSE_COLUMNS_MAX,
    );
    expect(tooLong.map(placeOf)).toEqual([]);
  });

  test(`no line of a page has more than ${PROSE_COLUMNS_MAX} columns, but for tables and code`, () => {
    let isFenced = false;
    const prose = linesOf(/^(?!test\/bench\/).*\.md$/).filter(({ line }) => {
      if (line.trim().startsWith('```')) isFenced = !isFenced;
      return !isFenced && !/^(\||#|    |\s*`[^`]+`[.,:;]?$)/.test(line);
    });
    expect(prose.filter(({ line }) => line.length > PROSE_COLUMNS_MAX).map(placeOf)).toEqual([]);
  });
});

describe('folders and files', () => {
  test(`a folder has ${FILES_MIN} to ${FILES_MAX} source files`, () => {
    const folders = tracked(/^(lib|daemon)\/.*\.(c|m)?(js|ts)$/).map((path) => dirname(path));
    const counts = [...new Set(folders)].map((folder) => ({
      folder,
      count: folders.filter((one) => one === folder).length,
    }));
    expect(counts.filter(({ count }) => count < FILES_MIN || count > FILES_MAX)).toEqual([]);
  });

  test(`no source file has more than ${LINES_MAX} lines`, () => {
    const long = files.filter(({ path }) => lengthOf(path) > LINES_MAX).map(({ path }) => path);
    expect(long).toEqual([]);
  });

  test(`a file with one importer and fewer than ${LINES_OF_A_PART} lines is a part of the importer`, () => {
    const small = files.map(({ path }) => path).filter((path) => lengthOf(path) < LINES_OF_A_PART);
    const parts = small.filter((path) => importers.get(path)?.size === 1);
    expect(parts.sort()).toEqual(Object.keys(SMALL).sort());
  });

  test('every source file is imported by another one, or is an entry', () => {
    const unread = files.map(({ path }) => path).filter((path) => !importers.has(path));
    expect(unread.sort()).toEqual(ENTRIES);
  });

  test('every file that a comment names exists', () => {
    const paths = tracked(/\.c?js$/);
    const lost = files.flatMap(({ path, text }) =>
      namedInComments(text)
        .filter((name) => !ELSEWHERE.test(name) && !paths.some((one) => `/${one}`.endsWith(`/${name}`)))
        .map((name) => `${path}: ${name}`),
    );
    expect(lost).toEqual([]);
  });

  test('every export is used', () => {
    const unused = files
      .filter(({ path }) => !ENTRIES.includes(path))
      .flatMap(({ path, code }) => exportsOf(path, code).map((name) => ({ path, name })))
      .filter(({ path, name }) => !isUsed(path, name));
    expect(unused).toEqual([]);
  });
});

function tracked(pattern) {
  const all = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' }).split('\0');
  return all.filter((path) => pattern.test(path) && !path.startsWith('test/fixtures/broken/'));
}

function linesOf(pattern) {
  return tracked(pattern).flatMap((path) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .map((line, at) => ({ path, number: at + 1, line })),
  );
}

function placeOf({ path, number }) {
  return `${path}:${number}`;
}

function lengthOf(path) {
  return readFileSync(path, 'utf8').split('\n').length - 1;
}

/** @returns {string[]} */
function namedInComments(text) {
  const prose = commentsOf(text)
    .map((comment) => comment.replace(/import\([^)]*\)|@import.*/g, ''))
    .join('\n');
  return prose.match(/(?<![\w./*<-])(?:[\w-]+\/)*[\w-]+\.c?js\b/g) ?? [];
}

/** @returns {Map<string, Set<string>>} */
function importersOf(sources) {
  const found = new Map();
  for (const file of sources)
    for (const name of importsOf(file)) found.set(name, (found.get(name) ?? new Set()).add(file.path));
  return found;
}

function exportsOf(path, code) {
  const list = path.endsWith('.cjs') ? /^module\.exports = \{([^}]*)\}/gm : /^export \{([^}]*)\}/gm;
  const listed = [...code.matchAll(list)].flatMap(([, names]) => names.split(','));
  const named = [...code.matchAll(/^export (?:async )?(?:function\*?|class|const|let) (\w+)/gm)].map(
    ([, name]) => name,
  );
  return [...named, ...listed.map((one) => one.trim().replace(/^.* as |:.*$/g, '')).filter(Boolean)];
}

/**
 * Also true if only a comment of another file imports the name, because types are imported in
 * comments.
 */
function isUsed(path, name) {
  const word = new RegExp(`\\b${name}\\b`);
  const module = `/${basename(path)}'`;
  return [...files, ...others].some((file) => file.path !== path && file.text.includes(module) && word.test(file.text));
}
