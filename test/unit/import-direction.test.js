import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { CONTROL_CODE } from '../../daemon/control/update/installation.js';
import { importsOf, sourceFiles } from '../helpers/source-tree.js';
import { MUTUAL, RULES, SHARED_TYPES } from './import-rules.js';

const PACKAGES = {
  'lib/': [
    'chalk',
    'cli-table3',
    'commander',
    'compression',
    'croner',
    'dayjs',
    'json5',
    'send',
    'string-width',
    'ws',
    'yaml',
  ],
  'lib/shared/': ['ws'],
  'daemon/control/': ['chokidar', 'croner', 'dayjs', 'dotenv', 'picomatch', 'pidusage', 'ws'],
  'daemon/control/web/page/': ['/uplot.js'],
};

const CONTROL = 'daemon/control';

const files = sourceFiles('bin', 'lib', 'daemon');
const rules = new Map(Object.entries(RULES).map(([folder, names]) => [folder, names.map(toPath(folder))]));

test('the rules have a row for every folder, and no other row', () => {
  expect([...rules.keys()].sort()).toEqual([...new Set(files.map(({ path }) => dirname(path)))].sort());
});

test.each(files.map((file) => [file.path, file]))('%s imports only what its folder may import', (path, file) => {
  const folder = dirname(path);
  const allowed = rules.get(folder) ?? [];
  const strangers = importsOf(file).filter((name) => {
    if (name.startsWith('node:') || name === 'package.json') return false;
    if (!/^(bin|lib|daemon)\//.test(name)) return !packagesOf(path).includes(name);
    return dirname(name) !== folder && !allowed.some((one) => name.startsWith(`${one}/`));
  });
  expect(strangers).toEqual([]);
});

test('a row names only folders that its files import', () => {
  const idle = [...rules].flatMap(([folder, allowed]) => {
    const names = files.filter(({ path }) => dirname(path) === folder).flatMap(importsOf);
    return allowed.filter((one) => !names.some((name) => name.startsWith(`${one}/`))).map((one) => `${folder}: ${one}`);
  });
  expect(idle).toEqual([]);
});

test('an update notices a change of any code that control runs', () => {
  const named = [...rules].flatMap(([folder, names]) => (folder.startsWith(CONTROL) ? names : []));
  expect(named.filter((name) => !CONTROL_CODE.some((part) => name === part || name.startsWith(`${part}/`)))).toEqual(
    [],
  );
});

test('no file imports itself through other files', () => {
  expect(cyclesOf(new Map(files.map((file) => [file.path, importsOf(file)])))).toEqual([]);
});

test('no folder imports itself through other folders', () => {
  const graph = new Map([...rules.keys()].map((folder) => [folder, []]));
  for (const file of files) {
    const folder = dirname(file.path);
    const others = importsOf(file).map((name) => dirname(name));
    graph.get(folder)?.push(...others.filter((name) => name !== folder));
  }
  expect(cyclesOf(graph)).toEqual([]);
});

test('only the listed pairs of folders import from each other, if types count', () => {
  const arrows = new Set(
    files.flatMap(({ path, text }) =>
      importsOf({ path, text, code: text }).map((name) => `${roomOf(path)} ${roomOf(name)}`),
    ),
  );
  const rooms = [...rules.keys()].sort();
  const mutual = rooms.flatMap((one) =>
    rooms
      .filter((other) => one < other && arrows.has(`${one} ${other}`) && arrows.has(`${other} ${one}`))
      .map((other) => `${one} <> ${other}`),
  );
  expect(mutual).toEqual(MUTUAL);
});

test('the room of shared types has no code', () => {
  expect(files.find(({ path }) => path === SHARED_TYPES)?.code.trim()).toBe('export {};');
});

test('every import of an own file leads to an existing file', () => {
  const missing = files.flatMap((file) =>
    importsOf(file)
      .filter((name) => /^(bin|lib|daemon)\//.test(name) && !existsSync(name))
      .map((name) => `${file.path} -> ${name}`),
  );
  expect(missing).toEqual([]);
});

test('a module that a browser loads needs no Node.js', () => {
  const byPath = new Map(files.map((file) => [file.path, importsOf(file)]));
  const loaded = new Set(files.map(({ path }) => path).filter((path) => path.startsWith('daemon/control/web/page/')));
  for (const path of loaded) for (const name of byPath.get(path) ?? []) if (name.startsWith('lib/')) loaded.add(name);
  expect([...loaded].filter((path) => byPath.get(path)?.some((name) => name.startsWith('node:')))).toEqual([]);
  expect([...loaded].some((path) => path.startsWith('lib/render/'))).toBe(true);
});

function roomOf(path) {
  return path === SHARED_TYPES ? path : dirname(path);
}

/** Completes the short names in the rows of control. */
function toPath(folder) {
  return (name) => (folder.startsWith(CONTROL) && !name.startsWith('lib/') ? `${CONTROL}/${name}` : name);
}

function packagesOf(path) {
  const rows = Object.entries(PACKAGES).filter(([part]) => path.startsWith(part));
  return rows.sort(([a], [b]) => b.length - a.length)[0]?.[1] ?? [];
}

/** @returns {string[][]} */
function cyclesOf(graph) {
  return [...graph.keys()].flatMap((start) => {
    const ways = [[start]];
    const seen = new Set();
    for (const way of ways)
      for (const next of graph.get(way.at(-1)) ?? []) {
        if (next === start) return [[...way, start]];
        if (seen.has(next) || !graph.has(next)) continue;
        seen.add(next);
        ways.push([...way, next]);
      }
    return [];
  });
}
