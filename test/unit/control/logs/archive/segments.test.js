import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  parseSegmentName,
  readSegments,
  listSegmentsByPath,
  segmentName,
} from '../../../../../daemon/control/logs/archive/segments.js';

const AT_MS = Date.parse('2026-11-21T14:30:00.123Z');
let folder;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-segments-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const put = (name, text = 'x') => writeFileSync(join(folder, name), text);

test.each([
  ['api-out.log', 'api-out__2026-11-21T14-30-00-123Z.log'],
  ['api', 'api__2026-11-21T14-30-00-123Z'],
  ['.hidden', '.hidden__2026-11-21T14-30-00-123Z'],
  ['a__b.c.txt', 'a__b.c__2026-11-21T14-30-00-123Z.txt'],
  ['größe 1.log', 'größe 1__2026-11-21T14-30-00-123Z.log'],
])('the segment of %s is named %s, and its name is parsed again', (name, segment) => {
  expect(segmentName(join(folder, name), AT_MS)).toBe(join(folder, segment));
  put(segment, 'four');
  expect(readSegments(join(folder, name))).toEqual([
    {
      path: join(folder, segment),
      plainPath: join(folder, segment),
      compression: null,
      endedAtMs: AT_MS,
      sizeBytes: 4,
    },
  ]);
});

test.each([[''], ['.gz'], ['.zst']])('a name that is taken (with %j behind it) is not reused', (suffix) => {
  put(`api__2026-11-21T14-30-00-123Z.log${suffix}`);
  put('api__2026-11-21T14-30-00-124Z.log');
  expect(basename(segmentName(join(folder, 'api.log'), AT_MS))).toBe('api__2026-11-21T14-30-00-125Z.log');
});

test.each([
  ['stands still', 0],
  ['was set back', -60_000],
])('a new segment sorts after the existing ones, though the clock %s', (_what, ms) => {
  put('api__2026-11-21T14-30-00-123Z.log.gz');
  expect(basename(segmentName(join(folder, 'api.log'), AT_MS + ms))).toBe('api__2026-11-21T14-30-00-124Z.log');
});

test('a segment from a wrong future does not set the time forever', () => {
  put('api__2099-11-21T14-30-00-123Z.log');
  expect(basename(segmentName(join(folder, 'api.log'), AT_MS))).toBe('api__2026-11-21T14-30-00-123Z.log');
});

test('segments are sorted oldest first, including compressed ones; similar names are ignored', () => {
  for (const name of [
    'api__2026-11-21T14-30-00-200Z.log',
    'api__2026-11-20T14-30-00-123Z.log.zst',
    'api__2026-11-21T14-30-00-123Z.log.gz',
  ])
    put(name);
  for (const name of [
    'api.log',
    'api__2026-11-21T14-30-00-300Z.log.gz.tmp',
    'api__2026-11-21.log',
    'api__2026-13-41T14-30-00-300Z.log',
    'api2__2026-11-21T14-30-00-300Z.log',
    'api__2026-11-21T14-30-00-300Z.txt',
    'api__2026-11-21T14-30-00-300Z.log.1',
  ])
    put(name);
  mkdirSync(join(folder, 'api__2026-11-22T14-30-00-300Z.log'));
  expect(
    readSegments(join(folder, 'api.log')).map(({ path, plainPath, compression }) => [
      basename(path),
      basename(plainPath),
      compression,
    ]),
  ).toEqual([
    ['api__2026-11-20T14-30-00-123Z.log.zst', 'api__2026-11-20T14-30-00-123Z.log', 'zstd'],
    ['api__2026-11-21T14-30-00-123Z.log.gz', 'api__2026-11-21T14-30-00-123Z.log', 'gzip'],
    ['api__2026-11-21T14-30-00-200Z.log', 'api__2026-11-21T14-30-00-200Z.log', null],
  ]);
});

test('a segment that exists in both forms after a death is listed once, uncompressed', () => {
  put('api__2026-11-21T14-30-00-123Z.log.gz');
  put('api__2026-11-21T14-30-00-123Z.log', 'plain');
  expect(readSegments(join(folder, 'api.log'))).toMatchObject([{ compression: null, sizeBytes: 5 }]);
});

test('a missing folder has no segments', () => {
  expect(readSegments(join(folder, 'none/api.log'))).toEqual([]);
});

test('segments of many files are distinguished', () => {
  for (const name of [
    'a__2026-11-21T14-30-00-123Z.log',
    'b__2026-11-21T14-30-00-123Z.log',
    'b__2026-11-21T14-30-00-124Z.log',
  ])
    put(name);
  const owned = ['a.log', 'b.log', 'c.log'].map((name) => ({ path: join(folder, name), user: null }));
  const found = listSegmentsByPath(owned);
  expect([...found.values()].map((segments) => segments.length)).toEqual([1, 2, 0]);
});

test('every time is written so that it can be parsed again', () => {
  for (let ms = 0; ms < 2_000_000_000_000; ms += 77_777_777_777)
    expect(parseSegmentName(basename(segmentName(join(folder, 'a.log'), ms)))).toMatchObject({
      owner: 'a.log',
      endedAtMs: ms,
    });
});
