import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { removeFiles, writeFiles } from '../../../../lib/boot/install.js';

test.each([
  ['a link, as of a masked unit', (path) => symlinkSync('/dev/null', path)],
  ['a named pipe', (path) => execFileSync('mkfifo', [path])],
  ['a folder', (path) => mkdirSync(path)],
])('%s at the path of a service file stays, and the error names the path', (_, make) => {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-install-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'nclust.service');
  make(path);
  const { ino } = lstatSync(path);
  const owner = { uid: process.getuid?.() ?? 0, gid: 0 };
  const file = { path, text: 'text', mode: 0o644, isOwners: false };
  for (const act of [writeFiles, removeFiles]) expect(() => act([file], owner)).toThrow(`"${path}" could not be`);
  expect(() => writeFiles([file], owner)).toThrow('it is not a regular file');
  expect([readdirSync(folder), lstatSync(path).ino]).toEqual([['nclust.service'], ino]);
});
