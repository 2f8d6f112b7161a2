// Tests log files of an app with another user. The manager of this app runs as root.
import {
  chmodSync,
  chownSync,
  lstatSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { compressSegment } from '../../../../daemon/control/logs/archive/compression.js';
import { readSegments } from '../../../../daemon/control/logs/archive/segments.js';
import { openContent } from '../../../../daemon/control/logs/history/content-reader.js';
import { PathReader } from '../../../../daemon/control/logs/history/path-reader.js';
import { createDisk } from '../../../../daemon/control/logs/write/disk.js';
import { createLogFile } from '../../../../daemon/control/logs/write/log-file.js';
import { isRoot, NOBODY, SECRET, userFolders } from '../../../helpers/other-user.js';

const SEGMENT = 'out__2026-11-21T14-30-00-123Z.log';

/** @type {string} */
let logs;
let folders;
let nowMs = 1;

describe.runIf(isRoot)('the log folder of another user', () => {
  beforeEach(() => {
    folders = userFolders();
    logs = folders.plant('logs', (path) => mkdirSync(path));
  });

  test('a new log file, its segment and its compressed segment belong to the user', async () => {
    const file = openLog({ maxSizeBytes: 10 });
    append(file, 'more than ten\n');
    append(file, 'second\n');
    const [segment] = readSegments(join(logs, 'out.log'), NOBODY);
    await compressSegment(segment.path, 'gzip', quietly());
    for (const name of readdirSync(logs)) expect(statSync(join(logs, name))).toMatchObject(NOBODY);
    expect(readdirSync(logs)).toHaveLength(2);
    expect(gunzipSync(readFileSync(`${segment.path}.gz`)).toString()).toBe('more than ten\n');
  });

  test.each(['secret', 'new'])('lines are lost and counted, and a link stays, if its target is closed (%s)', (name) => {
    plantLink(join(folders.closed, name), 'out.log');
    const file = openLog();
    append(file, 'one\n');
    expectUntouched();
    expect(lstatSync(join(logs, 'out.log')).isSymbolicLink()).toBe(true);
    expect(file.losses.recent()).toMatchObject({ lines: 1, reason: 'EACCES' });
  });

  test('a log file that root made becomes a segment, and the next lines go to a new file', () => {
    writeFileSync(join(logs, 'out.log'), 'of an earlier version\n', { mode: 0o600 });
    append(openLog(), 'one\n');
    expect(readFileSync(join(logs, 'out.log'), 'utf8')).toBe('one\n');
    const [segment] = readSegments(join(logs, 'out.log'), NOBODY);
    expect(readFileSync(segment.path, 'utf8')).toBe('of an earlier version\n');
  });

  test('lines are lost and counted if the user may not write', () => {
    chownSync(logs, 0, NOBODY.gid);
    chmodSync(logs, 0o1777);
    writeFileSync(join(logs, 'out.log'), '');
    const file = openLog();
    append(file, 'one\n');
    expect(file.losses.recent()).toMatchObject({ lines: 1, reason: 'EACCES' });
  });

  test('a log folder that is replaced by a link gets no file, and no rotated one', () => {
    const file = openLog({ maxSizeBytes: 10 });
    append(file, 'one\n');
    renameSync(logs, `${logs}.away`);
    symlinkSync(folders.closed, logs);
    append(file, 'more than ten\n');
    file.reopen();
    append(file, 'two\n');
    expectUntouched();
  });

  test('truncating a log file does not touch the target of a link', async () => {
    plantLink(join(folders.closed, 'secret'), 'out.log');
    await expect(openLog().truncate()).rejects.toThrow('EACCES');
    expectUntouched();
  });

  test('a link at the name of an unfinished segment stays, and is not written through', async () => {
    folders.plant(join('logs', SEGMENT), (path) => writeFileSync(path, 'line\n'));
    plantLink(join(folders.closed, 'secret'), `${SEGMENT}.gz.tmp`);
    await expect(compressSegment(join(logs, SEGMENT), 'gzip', quietly())).rejects.toThrow('EINVAL');
    expectUntouched();
    expect(readdirSync(logs)).toEqual([SEGMENT, `${SEGMENT}.gz.tmp`]);
  });

  test('a link at the name of a segment is not read, compressed or counted', async () => {
    plantLink(join(folders.closed, 'secret'), SEGMENT);
    expect(readSegments(join(logs, 'out.log'), NOBODY)).toEqual([]);
    await expect(compressSegment(join(logs, SEGMENT), 'gzip', quietly())).rejects.toThrow('EACCES');
    expectUntouched();
    expect(readdirSync(logs)).toEqual([SEGMENT]);
  });

  test('a hard link to another file is not a segment', () => {
    linkSync(join(folders.closed, 'secret'), join(logs, SEGMENT));
    expect(readSegments(join(logs, 'out.log'), NOBODY)).toEqual([]);
  });

  test('an open log stays readable after its user closes the folder', async () => {
    const path = folders.plant('logs/out.log', (log) => writeFileSync(log, 'one\ntwo\n'));
    let startedAtMs = 1;
    const source = { timesFolder: logs, userOf: () => NOBODY, positionOf: () => ({ startedAtMs, offset: 8 }) };
    const kept = { path, user: NOBODY, id: 0, name: 'api', stream: 'out' };
    const reader = new PathReader(kept, { startedAtMs, offset: 0 }, source, 4);
    onTestFinished(() => reader.closeFile());
    const lines = [];
    const { signal } = new AbortController();
    for (await reader.fill(signal); reader.lines.next; await reader.fill(signal)) {
      lines.push(reader.lines.shift().line);
      // Pretends that the file was rotated or emptied.
      startedAtMs = 2;
      chmodSync(logs, 0);
    }
    expect(lines).toEqual(['one', 'two']);
  });

  test('the target of a link is not shown as the log', () => {
    plantLink(join(folders.closed, 'secret'), 'out.log');
    const content = { file: join(logs, 'out.log'), plainPath: '', startedAtMs: 0, endedAtMs: null };
    for (const compression of [null, 'gzip'])
      expect(openContent({ ...content, user: NOBODY, compression }, 0)).toBe(null);
  });
});

function openLog({ maxSizeBytes = Infinity } = {}) {
  const times = { startedAtMs: 1, note() {}, moveTo() {}, discard() {}, flush() {}, close() {} };
  const file = createLogFile({
    disk: createDisk(() => 0),
    isDropping: () => false,
    place: {
      path: join(logs, 'out.log'),
      user: () => NOBODY,
      nowMs: () => nowMs,
      limits: () => ({ maxSizeBytes, interval: 'never' }),
      openTimes: () => times,
      onRotated: () => {},
    },
  });
  onTestFinished(() => file.close());
  return file;
}

function append(file, text) {
  nowMs += 2_000;
  file.append(Buffer.from(text), () => {});
}

function plantLink(target, name) {
  folders.plant(join('logs', name), (path) => symlinkSync(target, path));
}

function quietly() {
  return { user: NOBODY, signal: new AbortController().signal, pause: async () => {} };
}

function expectUntouched() {
  expect(folders.closedNames()).toEqual(['empty', 'number', 'secret']);
  const secret = join(folders.closed, 'secret');
  expect(readFileSync(secret, 'utf8')).toBe(`${SECRET}\n`);
  expect(statSync(secret)).toMatchObject({ uid: 0, gid: 0, mode: 0o100600 });
}
