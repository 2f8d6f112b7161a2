import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { importsOf, sourceFiles } from '../helpers/source-tree.js';

// Who may import whom. Upgrades depend on it: what the keeper imports can only change with the
// keeper, which changes least.
const RULES = [
  { part: 'bin/', own: ['lib/'], packages: [] },
  { part: 'lib/shared/', own: ['lib/shared/', 'package.json'], packages: [] },
  {
    part: 'lib/',
    own: ['lib/', 'package.json'],
    packages: [
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
  },
  {
    part: 'daemon/control/web/page/',
    own: ['daemon/control/web/page/', 'lib/render/', 'lib/shared/'],
    packages: ['/uplot.js'],
  },
  {
    part: 'daemon/control/',
    own: ['daemon/control/', 'lib/shared/'],
    packages: ['chokidar', 'croner', 'dayjs', 'dotenv', 'picomatch', 'pidusage', 'ws'],
  },
  { part: 'daemon/keeper/', own: ['daemon/keeper/'], packages: [] },
  { part: 'daemon/agent/', own: ['daemon/agent/'], packages: [] },
];

const files = sourceFiles('bin', 'lib', 'daemon');

test.each(files.map((file) => [file.path, file]))('%s imports only what its part may import', (path, file) => {
  const rule = RULES.find(({ part }) => path.startsWith(part));
  expect(rule, `${path} belongs to no part of the project`).toBeDefined();
  const strangers = importsOf(file).filter((name) => !isAllowed(name, /** @type {any} */ (rule)));
  expect(strangers).toEqual([]);
});

test('every import of an own file leads to a file', () => {
  const missing = files.flatMap((file) =>
    importsOf(file)
      .filter((name) => /^(bin|lib|daemon)\//.test(name) && !existsSync(name))
      .map((name) => `${file.path} -> ${name}`),
  );
  expect(missing).toEqual([]);
});

test('what a browser loads needs nothing of Node', () => {
  const loaded = new Set(files.map(({ path }) => path).filter((path) => path.startsWith('daemon/control/web/page/')));
  for (const path of loaded)
    for (const name of importsOf(/** @type {any} */ (files.find((file) => file.path === path))))
      if (name.startsWith('lib/')) loaded.add(name);
  expect(
    [...loaded].flatMap((path) =>
      importsOf(/** @type {any} */ (files.find((file) => file.path === path))).filter((name) =>
        name.startsWith('node:'),
      ),
    ),
  ).toEqual([]);
  expect([...loaded].some((path) => path.startsWith('lib/render/'))).toBe(true);
});

/**
 * @param {string} name
 * @param {{ own: string[], packages: string[] }} rule
 */
function isAllowed(name, { own, packages }) {
  return name.startsWith('node:') || packages.includes(name) || own.some((start) => name.startsWith(start));
}
