import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createFileTable } from '../../../../../daemon/control/logs/write/file-table.js';

const WISHES = { name: 'api', user: null, limits: {}, overflow: 'block' };

/** A disk whose slow writes end only when the test ends them. */
const slow = vi.hoisted(() => ({ isSlow: false, writes: [] }));
vi.mock('../../../../../daemon/control/logs/write/disk.js', async (load) => {
  const { createDisk } = await load();
  const { writeNow } = createDisk(() => 0);
  const writeLater = (fd, bytes) => new Promise((resolve) => slow.writes.push(() => resolve(writeNow(fd, bytes))));
  return { createDisk: () => ({ isSlow: () => slow.isSlow, writeNow, writeLater }) };
});

let folder;
let path;
let grown;
let table;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-file-table-'));
  path = join(folder, 'api-out.log');
  grown = 0;
  slow.isSlow = false;
  slow.writes = [];
  const archive = { acquire() {}, release() {}, rotated() {}, grew: (_, bytes) => (grown += bytes) };
  const openTimes = () => ({ startedAtMs: 1, note() {}, moveTo() {}, discard() {}, flush() {}, close() {} });
  table = createFileTable({
    nowMs: () => 1_700_000_000_000,
    openTimes,
    archive,
    limitsOf: () => ({ maxSizeBytes: Infinity, interval: 'never' }),
  });
  table.acquire(path, WISHES);
});
afterEach(() => {
  table.release(path);
  rmSync(folder, { recursive: true, force: true });
});

const append = (text) => table.append(path, Buffer.from(text), () => {});

test('only bytes in a file count as used space', () => {
  mkdirSync(path);
  append('lost\n');
  rmSync(path, { recursive: true });
  execFileSync('mkfifo', [path]);
  table.reopen();
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  append('into a pipe\n');
  closeSync(reader);
  expect(grown).toBe(0);
  rmSync(path);
  table.reopen();
  append('kept\n');
  expect(grown).toBe(5);
});

test('a stream that opens a file again while it waits for the disk writes after the waiting lines', () => {
  slow.isSlow = true;
  append('old\n');
  const before = table.fileAt(path);
  table.release(path);
  table.acquire(path, WISHES);
  append('new\n');
  expect([table.fileAt(path) === before, slow.writes.length]).toEqual([true, 1]);
  for (const end of slow.writes) end();
});
