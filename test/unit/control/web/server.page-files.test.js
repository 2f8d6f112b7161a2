import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readPageFiles } from '../../../../daemon/control/web/server.js';
import { importsOf, sourceFiles } from '../../../helpers/source-tree.js';

const PAGE = 'daemon/control/web/page/';
let folder;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'page-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('the table contains all files of the page in the folder, and no others', () => {
  for (const name of [
    'index.html',
    'app.js',
    'app.css',
    'icon.svg',
    'jsconfig.json',
    'notes.txt',
    '.hidden',
    'app.js.bak',
  ])
    writeFileSync(join(folder, name), name);
  mkdirSync(join(folder, 'folder.js'));
  symlinkSync('/etc/hostname', join(folder, 'link.js'));
  const files = readPageFiles(folder);
  const own = [...files.keys()].filter((path) => !path.startsWith('/lib/') && !path.startsWith('/uplot'));
  expect(own.sort()).toEqual(['/', '/app.css', '/app.js', '/icon.svg']);
  expect(files.get('/')).toMatchObject({ type: 'text/html; charset=utf-8', bytes: Buffer.from('index.html') });
  expect(files.get('/app.js').etag).not.toBe(files.get('/app.css').etag);
  expect(files.get('/uplot.js').bytes.toString()).toContain('export { uPlot as default }');
  expect(files.get('/uplot.css')).toMatchObject({ type: 'text/css; charset=utf-8' });
});

test('every import of the page is served, and none needs the system', () => {
  const all = new Map(sourceFiles('lib', 'daemon').map((file) => [file.path, file]));
  const served = readPageFiles();
  const pathOf = (name) =>
    name.startsWith(PAGE) ? name.slice(PAGE.length - 1) : name.startsWith('/') ? name : `/${name}`;
  const queue = [...all.keys()].filter((path) => path.startsWith(PAGE));
  const seen = new Set(queue);
  for (const path of queue) {
    for (const name of importsOf(all.get(path) ?? { path, code: '' })) {
      expect(served.has(pathOf(name)), `${path} imports ${name}`).toBe(true);
      if (!seen.has(name)) queue.push(name);
      seen.add(name);
    }
  }
});

test('control loads no module of the dashboard before it is needed', () => {
  const all = new Map(sourceFiles('lib', 'daemon').map((file) => [file.path, file]));
  const atOnce = (path) => importsOf({ path, code: (all.get(path)?.code ?? '').replace(/\bimport\('[^']+'\)/g, '') });
  const queue = ['daemon/control/main.js'];
  const seen = new Set(queue);
  for (const path of queue) {
    for (const name of atOnce(path)) {
      if (!seen.has(name)) queue.push(name);
      seen.add(name);
    }
  }
  expect(seen.size).toBeGreaterThan(100);
  expect(
    [...seen].filter((name) => name === 'ws' || name === 'node:http' || name.startsWith('daemon/control/web/')),
  ).toEqual(['daemon/control/web/dashboard.js', 'daemon/control/web/address.js']);
});
