import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDisk } from '../../../../../daemon/control/logs/write/disk.js';

let folder;
let fd;
let tookMs;
let disk;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-disk-'));
  fd = openSync(join(folder, 'file'), 'a');
  let nowMono = 0;
  tookMs = 0;
  disk = createDisk(() => (nowMono += tookMs));
});
afterEach(() => {
  closeSync(fd);
  rmSync(folder, { recursive: true, force: true });
});

test('a write that waited makes the disk slow, until twenty writes in a row were quick', async () => {
  disk.writeNow(fd, Buffer.from('a'));
  expect(disk.isSlow()).toBe(false);
  tookMs = 51;
  disk.writeNow(fd, Buffer.from('b'));
  expect(disk.isSlow()).toBe(true);
  tookMs = 1;
  for (let at = 0; at < 19; at++) await disk.writeLater(fd, Buffer.from('c'));
  expect(disk.isSlow()).toBe(true);
  await disk.writeLater(fd, Buffer.from('d'));
  expect(disk.isSlow()).toBe(false);
  expect(readFileSync(join(folder, 'file'), 'utf8')).toBe(`ab${'c'.repeat(19)}d`);
});

test('more than two writes wait for each other, and all are made', async () => {
  await Promise.all(Array.from({ length: 30 }, () => disk.writeLater(fd, Buffer.from('x'))));
  expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('x'.repeat(30));
});

test('the result of write(2) is reported, and the next write is made anyway', async () => {
  const full = openSync('/dev/full', 'a');
  try {
    expect(() => disk.writeNow(full, Buffer.from('x'))).toThrow('ENOSPC');
    await expect(disk.writeLater(full, Buffer.from('x'))).rejects.toThrow('ENOSPC');
    expect(await disk.writeLater(fd, Buffer.from('x'))).toBe(1);
  } finally {
    closeSync(full);
  }
});
