import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as zlib from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createArchive } from '../../../../../daemon/control/logs/archive/archive.js';
import { readSegments, segmentName } from '../../../../../daemon/control/logs/archive/segments.js';
import { timesFilePath } from '../../../../../daemon/control/logs/times/format.js';
import { createFakeClock } from '../../../../helpers/fake-clock.js';
import { waitFor } from '../../../../helpers/wait-for.js';

const NONE = { maxFiles: Infinity, maxAgeMs: Infinity, maxTotalBytes: Infinity, compress: 'none' };
const START_MS = 1_700_000_000_000;

let folder;
let logs;
let clock;
let archive;
let events;
let homeMaxTotalBytes;
/** Number of times that the home's limit was read: once for each plan. */
let plans;
/** Compression waits here between two chunks. */
let gate;
let openGate;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-archive-'));
  logs = join(folder, 'logs');
  mkdirSync(join(logs, '.times'), { recursive: true });
  homeMaxTotalBytes = Infinity;
  plans = 0;
  events = [];
  openGate = () => {};
  gate = Promise.resolve();
  const fake = createFakeClock(START_MS);
  clock = { ...fake, after: (ms, onTime) => (ms > 1 ? fake.after(ms, onTime) : void gate.then(onTime)) };
});
afterEach(async () => {
  openGate();
  await archive?.close();
  rmSync(folder, { recursive: true, force: true });
});

function shutGate() {
  gate = new Promise((resolve) => {
    openGate = resolve;
  });
}

function open() {
  const limitsOf = (given) => {
    if (given === null) plans += 1;
    return { ...NONE, ...given, homeMaxTotalBytes };
  };
  archive = createArchive({
    clock,
    managerLog: (event, fields) => events.push({ event, ...fields }),
    limitsOf,
    logsFolder: logs,
    timesFolder: join(logs, '.times'),
  });
  return archive;
}

function rotate(path, bytes = 10, mtimeS = null) {
  const content = typeof bytes === 'number' ? 'x'.repeat(bytes) : bytes;
  writeFileSync(path, content);
  const segment = segmentName(path, clock.nowMs());
  renameSync(path, segment);
  writeFileSync(timesFilePath(join(logs, '.times'), segment), 'times');
  if (mtimeS !== null) utimesSync(segment, mtimeS, mtimeS);
  archive.rotated(path, segment);
  return segment;
}

const path = (name = 'api-out.log') => join(logs, name);
const kept = (name) => readSegments(path(name)).map(({ plainPath }) => plainPath);
const usedBytes = () =>
  readdirSync(logs)
    .filter((name) => name !== '.times')
    .reduce((sum, name) => sum + statSync(join(logs, name)).size, 0);

test.each([
  ['gzip', '.gz', zlib.gunzipSync],
  ...(zlib.createZstdCompress ? [['zstd', '.zst', zlib.zstdDecompressSync]] : []),
])(
  'a segment is compressed with %s: same content, age and mode, and the plain one is removed',
  async (compress, suffix, unpack) => {
    open().acquire(path(), { ...NONE, compress });
    const content = Buffer.from(Array.from({ length: 20_000 }, (_, at) => `line ${at}\n`).join(''));
    const segment = rotate(path(), content, 1_000_000);
    await archive.idle();
    expect(kept()).toEqual([segment]);
    expect(readSegments(path())).toMatchObject([{ path: segment + suffix, compression: compress }]);
    expect(unpack(readFileSync(segment + suffix)).equals(content)).toBe(true);
    expect(statSync(segment + suffix).mtimeMs).toBe(1_000_000_000);
    expect(statSync(segment + suffix).mode & 0o777).toBe(
      statSync(timesFilePath(join(logs, '.times'), segment)).mode & 0o777,
    );
    expect(readdirSync(logs).sort()).toEqual(['.times', `${segment.slice(logs.length + 1)}${suffix}`]);
  },
);

test('rotated() removes surplus segments and their times before it returns', () => {
  open().acquire(path(), { ...NONE, maxFiles: 3 });
  const all = Array.from({ length: 6 }, () => {
    const segment = rotate(path());
    expect(kept().length).toBeLessThanOrEqual(3);
    return segment;
  });
  expect(kept()).toEqual(all.slice(3));
  expect(readdirSync(join(logs, '.times'))).toHaveLength(3);
});

test('the files of one app share its limit, and each app has its own', () => {
  open();
  for (const name of ['a-out.log', 'a-error.log']) archive.acquire(path(name), { ...NONE, maxTotalBytes: 35 }, 'a');
  archive.acquire(path('b-out.log'), { ...NONE, maxTotalBytes: 35 }, 'b');
  for (let round = 0; round < 4; round++) {
    for (const name of ['a-out.log', 'a-error.log', 'b-out.log']) rotate(path(name));
    clock.advance(5);
  }
  expect(kept('a-out.log').length + kept('a-error.log').length).toBe(3);
  expect(kept('b-out.log')).toHaveLength(3);
});

test('a surplus segment is removed at once during its compression, without leftovers', async () => {
  shutGate();
  open().acquire(path(), { ...NONE, maxFiles: 1, compress: 'gzip' });
  const first = rotate(path(), 300_000);
  await waitFor('the compression', () => readdirSync(logs).some((name) => name.endsWith('.tmp')));
  openGate();
  const second = rotate(path(), 1_000);
  expect(readdirSync(logs).filter((name) => name.startsWith(first.slice(logs.length + 1)))).toEqual([]);
  await archive.idle();
  expect(readSegments(path())).toMatchObject([{ plainPath: second, compression: 'gzip' }]);
  expect(readdirSync(logs)).toHaveLength(2);
  expect(events).toEqual([]);
});

test('close leaves a segment under compression as it was, and the next archive compresses it', async () => {
  shutGate();
  open().acquire(path(), { ...NONE, compress: 'gzip' });
  const segment = rotate(path(), 300_000);
  await waitFor('the compression', () => readdirSync(logs).some((name) => name.endsWith('.tmp')));
  const closed = archive.close();
  // close() removes the unfinished file at once, because the process may exit in the same turn.
  expect(readdirSync(logs).some((name) => name.endsWith('.tmp'))).toBe(false);
  openGate();
  await closed;
  await archive.close();
  expect(readSegments(path())).toMatchObject([{ path: segment, sizeBytes: 300_000 }]);
  await open().scan();
  archive.acquire(path(), { ...NONE, compress: 'gzip' });
  await archive.scan();
  await archive.idle();
  expect(readSegments(path())).toMatchObject([{ path: `${segment}.gz` }]);
});

test.each([
  ['in the middle of the compression', (segment) => writeFileSync(`${segment}.gz.tmp`, 'half')],
  ['between the rename and the removal', (segment) => writeFileSync(`${segment}.gz`, zlib.gzipSync('x'.repeat(500)))],
])('the archive repairs the state after a death %s', async (_when, leave) => {
  const segment = join(logs, 'api-out__2023-11-14T22-13-20-000Z.log');
  writeFileSync(segment, 'x'.repeat(500));
  leave(segment);
  expect(readSegments(path())).toMatchObject([{ path: segment, sizeBytes: 500 }]);
  open().acquire(path(), { ...NONE, compress: 'gzip' });
  await archive.scan();
  await archive.idle();
  expect(readSegments(path())).toMatchObject([{ path: `${segment}.gz` }]);
  expect(zlib.gunzipSync(readFileSync(`${segment}.gz`)).toString()).toBe('x'.repeat(500));
  expect(readdirSync(logs).sort()).toEqual(['.times', `${segment.slice(logs.length + 1)}.gz`]);
});

test('the limit of the home counts files of deleted apps, and removes the oldest', async () => {
  for (const age of [3, 2, 1])
    writeFileSync(join(logs, `gone-out__2023-11-1${4 - age}T22-13-20-000Z.log.gz`), 'x'.repeat(100));
  writeFileSync(path('gone-out.log'), 'x'.repeat(50));
  homeMaxTotalBytes = 350;
  open().acquire(path(), NONE);
  await archive.scan();
  expect(kept('gone-out.log')).toHaveLength(3);
  rotate(path(), 60);
  expect(kept('gone-out.log')).toHaveLength(2);
  expect(kept()).toHaveLength(1);
  archive.grew(path(), 100);
  expect(kept('gone-out.log')).toHaveLength(1);
  expect(usedBytes()).toBeLessThanOrEqual(350);
});

test('the archive makes no plan per chunk of a file above its limit, and removes later what it can', async () => {
  open().acquire(path(), NONE);
  rotate(path());
  archive.acquire(path('big.log'), { ...NONE, maxTotalBytes: 500 }, 'big');
  await archive.scan();
  archive.grew(path('big.log'), 1_000);
  const before = plans;
  for (let chunk = 0; chunk < 100; chunk++) archive.grew(path('big.log'), 10);
  expect(plans).toBe(before);
  homeMaxTotalBytes = 1_000;
  archive.grew(path('big.log'), 10);
  expect(kept()).toEqual([]);
});

test('the archive plans a home full of growing files once for all apps, and again after a rotation', async () => {
  const outside = join(folder, 'elsewhere.log');
  open().acquire(outside, NONE, 'elsewhere');
  rotate(outside);
  for (let app = 0; app < 20; app++) archive.acquire(path(`app-${app}.log`), NONE, `app-${app}`);
  await archive.scan();
  homeMaxTotalBytes = 1_000;
  const plansOf = (act) => {
    const before = plans;
    act();
    return plans - before;
  };
  const growAll = () => {
    for (let chunk = 0; chunk < 100; chunk++) archive.grew(path(`app-${chunk % 20}.log`), 100);
  };
  expect(plansOf(growAll)).toBeGreaterThan(0);
  expect(plansOf(growAll)).toBe(0);
  const once = plansOf(() => rotate(path('app-3.log')));
  expect(once).toBeGreaterThan(0);
  expect(plansOf(growAll)).toBe(0);
  expect([kept('app-3.log'), readSegments(outside).length]).toEqual([[], 1]);
});

test('a flood never takes more disk than the limit and one file', async () => {
  open().acquire(path(), { ...NONE, maxTotalBytes: 10_000, compress: 'gzip' });
  for (let round = 0; round < 60; round++) {
    archive.grew(path(), 1_000);
    rotate(path(), 1_000);
    expect(usedBytes()).toBeLessThanOrEqual(11_000);
    clock.advance(2);
  }
  await archive.idle();
  expect(readSegments(path()).every(({ compression }) => compression === 'gzip')).toBe(true);
  expect(readdirSync(logs).filter((name) => name.endsWith('.tmp'))).toEqual([]);
});

test('segments that are too old are removed without a rotation', async () => {
  open().acquire(path(), { ...NONE, maxAgeMs: 3_600_000 });
  rotate(path());
  await archive.scan();
  clock.advance(3_000_000);
  await archive.scan();
  expect(kept()).toHaveLength(1);
  clock.advance(1_200_000);
  await archive.scan();
  expect(kept()).toEqual([]);
});

test('files outside the home are managed while they are held, and foreign files never', async () => {
  const elsewhere = join(folder, 'var');
  mkdirSync(elsewhere);
  const [mine, other] = [join(elsewhere, 'mine.log'), join(elsewhere, 'other.log')];
  for (const file of [mine, other]) for (const at of [1, 2, 3]) writeFileSync(segmentName(file, at), 'x');
  writeFileSync(`${segmentName(other, 9)}.gz.tmp`, 'x');
  homeMaxTotalBytes = 1;
  open().acquire(mine, { ...NONE, maxFiles: 1 });
  await archive.scan();
  expect([readSegments(mine).length, readSegments(other).length]).toEqual([1, 3]);
  expect(readdirSync(elsewhere).some((name) => name.endsWith('.tmp'))).toBe(true);
  archive.release(mine);
  writeFileSync(segmentName(mine, 5), 'x');
  await archive.scan();
  expect(readSegments(mine)).toHaveLength(2);
});

test('segments that another program removed are forgotten first', async () => {
  homeMaxTotalBytes = 100;
  open().acquire(path(), NONE);
  const segments = [rotate(path(), 40), rotate(path(), 40)];
  rmSync(segments[0]);
  await archive.scan();
  rotate(path(), 40);
  expect(kept()).toHaveLength(2);
});

test('flush removes every segment of a file, in any form, and its times', async () => {
  open().acquire(path(), { ...NONE, compress: 'gzip' });
  archive.acquire(path('b.log'), NONE);
  rotate(path());
  await archive.idle();
  rotate(path(), 300_000);
  rotate(path('b.log'));
  await archive.flush([{ path: path(), user: null }]);
  expect([kept().length, kept('b.log').length]).toEqual([0, 1]);
  await archive.idle();
  expect(readdirSync(logs).filter((name) => name.startsWith('api'))).toEqual([]);
  expect(readdirSync(join(logs, '.times'))).toHaveLength(1);
});

test('a segment that cannot be compressed stays, is reported once, and is retried at the next check', async () => {
  const segment = join(logs, 'api-out__2023-11-14T22-13-20-000Z.log');
  writeFileSync(segment, 'content');
  mkdirSync(`${segment}.gz.tmp/x`, { recursive: true });
  await open().scan();
  archive.acquire(path(), { ...NONE, compress: 'gzip' });
  archive.rotated(path(), segment);
  await archive.idle();
  archive.rotated(path(), segment);
  await archive.idle();
  expect(events.filter(({ event }) => event === 'log-compression-failed')).toHaveLength(1);
  expect(readFileSync(segment, 'utf8')).toBe('content');
  rmSync(`${segment}.gz.tmp`, { recursive: true });
  await archive.scan();
  await archive.idle();
  expect(readSegments(path())).toMatchObject([{ compression: 'gzip' }]);
});

test('unfinished segments that cannot be removed are reported once, and other files are checked', async () => {
  await open().scan();
  archive.acquire(path('a-out.log'), NONE, 'a');
  archive.acquire(path('b-out.log'), { ...NONE, maxAgeMs: 1_000 }, 'b');
  for (const ms of ['000', '001']) mkdirSync(join(logs, `a-out__2023-11-14T22-13-20-${ms}Z.log.gz.tmp`));
  rotate(path('b-out.log'));
  clock.advance(5_000);
  await archive.idle();
  expect(kept('b-out.log')).toEqual([]);
  expect(events).toMatchObject([{ event: 'log-segment-kept', path: expect.stringContaining('a-out__') }]);
});

test('a missing log folder, or a dangling link, is not an error', async () => {
  symlinkSync(join(folder, 'nowhere'), path('link.log'));
  await open().scan();
  rmSync(logs, { recursive: true });
  await archive.scan();
  archive.acquire(path(), NONE);
  archive.rotated(path(), segmentName(path(), 1));
  expect(events).toEqual([]);
});

test('changed limits apply from the next rotation on', () => {
  open().acquire(path(), NONE);
  for (let round = 0; round < 5; round++) rotate(path());
  archive.acquire(path(), { ...NONE, maxFiles: 2 });
  rotate(path());
  expect(kept()).toHaveLength(2);
});
