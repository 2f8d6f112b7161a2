import { execFileSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { replaceFile } from '../../../../../lib/shared/host/replace-file.js';

let folder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-replace-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

test('the new file is readable only for its owner', () => {
  const file = join(folder, 'settings.json');
  writeFileSync(file, 'before', { mode: 0o644 });
  replaceFile(file, 'after');
  expect(readFileSync(file, 'utf8')).toBe('after');
  expect(lstatSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['settings.json']);
});

test('a link at the path of the temporary file is not followed', () => {
  const target = join(folder, 'target');
  writeFileSync(target, 'of somebody else');
  symlinkSync(target, join(folder, 'settings.json.new'));
  replaceFile(join(folder, 'settings.json'), 'ours');
  expect(readFileSync(target, 'utf8')).toBe('of somebody else');
  expect(lstatSync(join(folder, 'settings.json')).isFile()).toBe(true);
});

test.each(['file', 'missing'])('a link stays, and its target is replaced (%s)', (what) => {
  const target = join(folder, 'elsewhere');
  if (what === 'file') writeFileSync(target, 'before');
  symlinkSync('elsewhere', join(folder, 'settings.json'));
  replaceFile(join(folder, 'settings.json'), 'after');
  expect(readFileSync(target, 'utf8')).toBe('after');
  expect(readlinkSync(join(folder, 'settings.json'))).toBe('elsewhere');
  expect(readdirSync(folder)).toEqual(['elsewhere', 'settings.json']);
});

test.each([
  ['a named pipe', (path) => execFileSync('mkfifo', [path])],
  ['a folder', (path) => mkdirSync(path)],
  ['a link to a device', (path) => symlinkSync('/dev/null', path)],
  ['a link to itself', (path) => symlinkSync('settings.json', path)],
])('%s is not replaced', (_, make) => {
  const file = join(folder, 'settings.json');
  make(file);
  const identify = ({ ino, mode, ctimeMs }) => ({ ino, mode, ctimeMs });
  const before = identify(lstatSync(file));
  expect(() => replaceFile(file, 'ours')).toThrow('EINVAL');
  expect(identify(lstatSync(file))).toEqual(before);
  expect(readdirSync(folder)).toEqual(['settings.json']);
});

test('a failed replacement leaves no temporary file', () => {
  expect(() => replaceFile(join(folder, 'missing', 'settings.json'), 'ours')).toThrow('ENOENT');
  expect(readdirSync(folder)).toEqual([]);
});
