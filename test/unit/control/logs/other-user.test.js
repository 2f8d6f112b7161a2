// Log files of an app that runs as another user than its manager, which is root.
import {
  chmodSync,
  chownSync,
  lchownSync,
  lstatSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { compressSegment } from '../../../../daemon/control/logs/archive/compression.js';
import { readSegments } from '../../../../daemon/control/logs/archive/segments.js';
import { openContent } from '../../../../daemon/control/logs/history/content-reader.js';
import { createDisk } from '../../../../daemon/control/logs/write/disk.js';
import { createLogFile } from '../../../../daemon/control/logs/write/log-file.js';

const NOBODY = { uid: 65534, gid: 65534 };
const SEGMENT = 'out__2026-11-21T14-30-00-123Z.log';

/** Of nobody. @type {string} */
let logs;
/** Of root, closed to nobody. @type {string} */
let closed;
let nowMs = 1;

describe.runIf(process.getuid?.() === 0)('the log folder of another user', () => {
  beforeEach(() => {
    const top = mkdtempSync(join(tmpdir(), 'nclust-logs-'));
    onTestFinished(() => rmSync(top, { recursive: true }));
    chmodSync(top, 0o755);
    logs = join(top, 'own/logs');
    closed = join(top, 'closed');
    mkdirSync(logs, { recursive: true });
    for (const folder of ['own', 'own/logs']) chownSync(join(top, folder), NOBODY.uid, NOBODY.gid);
    mkdirSync(closed, { mode: 0o700 });
    writeFileSync(join(closed, 'secret'), 'of root', { mode: 0o600 });
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

  test.each(['secret', 'new'])('lines are not written to where a link leads (%s), but to a new file', (name) => {
    plant(join(closed, name), 'out.log');
    append(openLog(), 'one\n');
    expectUntouched();
    expect(lstatSync(join(logs, 'out.log'))).toMatchObject(NOBODY);
    expect(readFileSync(join(logs, 'out.log'), 'utf8')).toBe('one\n');
  });

  test('a log file that root made becomes a segment, and the next lines go into a new file', () => {
    writeFileSync(join(logs, 'out.log'), 'of an earlier version\n', { mode: 0o600 });
    append(openLog(), 'one\n');
    expect(readFileSync(join(logs, 'out.log'), 'utf8')).toBe('one\n');
    const [segment] = readSegments(join(logs, 'out.log'), NOBODY);
    expect(readFileSync(segment.path, 'utf8')).toBe('of an earlier version\n');
  });

  test('lines are lost and counted where the user may not write', () => {
    chownSync(logs, 0, NOBODY.gid);
    chmodSync(logs, 0o1777);
    writeFileSync(join(logs, 'out.log'), '');
    const file = openLog();
    append(file, 'one\n');
    expect(file.losses.told()).toMatchObject({ lines: 1, reason: 'EACCES' });
  });

  test('a log folder that is exchanged for a link gets no file, and no rotated one', () => {
    const file = openLog({ maxSizeBytes: 10 });
    append(file, 'one\n');
    renameSync(logs, `${logs}.away`);
    symlinkSync(closed, logs);
    append(file, 'more than ten\n');
    file.reopen();
    append(file, 'two\n');
    expectUntouched();
  });

  test('truncating a log file leaves what a link names', async () => {
    plant(join(closed, 'secret'), 'out.log');
    await openLog().truncate();
    expectUntouched();
  });

  test('a link at the name of an unfinished segment is removed, not written through', async () => {
    writeFileSync(join(logs, SEGMENT), 'line\n');
    chownSync(join(logs, SEGMENT), NOBODY.uid, NOBODY.gid);
    plant(join(closed, 'secret'), `${SEGMENT}.gz.tmp`);
    await compressSegment(join(logs, SEGMENT), 'gzip', quietly());
    expectUntouched();
    expect(readdirSync(logs)).toEqual([`${SEGMENT}.gz`]);
    expect(statSync(join(logs, `${SEGMENT}.gz`))).toMatchObject(NOBODY);
  });

  test('a link at the name of a segment is not read, compressed or counted', async () => {
    plant(join(closed, 'secret'), SEGMENT);
    expect(readSegments(join(logs, 'out.log'), NOBODY)).toEqual([]);
    await expect(compressSegment(join(logs, SEGMENT), 'gzip', quietly())).rejects.toThrow('EACCES');
    expectUntouched();
    expect(readdirSync(logs)).toEqual([SEGMENT]);
  });

  test('a second name of a file is not a segment', () => {
    linkSync(join(closed, 'secret'), join(logs, SEGMENT));
    expect(readSegments(join(logs, 'out.log'), NOBODY)).toEqual([]);
    rmSync(join(logs, SEGMENT));
  });

  test('what a link names is not shown as the log', () => {
    plant(join(closed, 'secret'), 'out.log');
    const content = { file: join(logs, 'out.log'), plainPath: '', startedAtMs: 0, endedAtMs: null };
    for (const compression of [null, /** @type {const} */ ('gzip')])
      expect(openContent({ ...content, user: NOBODY, compression }, 0)).toBe(null);
  });
});

/** @param {{ maxSizeBytes?: number }} [limits] */
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

/**
 * @param {ReturnType<typeof openLog>} file
 * @param {string} text
 */
function append(file, text) {
  nowMs += 2_000;
  file.append(Buffer.from(text), () => {});
}

/**
 * @param {string} target
 * @param {string} name
 */
function plant(target, name) {
  symlinkSync(target, join(logs, name));
  lchownSync(join(logs, name), NOBODY.uid, NOBODY.gid);
}

function quietly() {
  return { user: NOBODY, signal: new AbortController().signal, pause: async () => {} };
}

function expectUntouched() {
  expect(readdirSync(closed)).toEqual(['secret']);
  expect(readFileSync(join(closed, 'secret'), 'utf8')).toBe('of root');
  expect(statSync(join(closed, 'secret'))).toMatchObject({ uid: 0, gid: 0, mode: 0o100600 });
}
