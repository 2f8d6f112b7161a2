import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readSegments } from '../../../../../daemon/control/logs/archive/segments.js';
import { createDisk } from '../../../../../daemon/control/logs/write/disk.js';
import { createLogFile } from '../../../../../daemon/control/logs/write/log-file.js';
import { createRandom } from '../../../../helpers/random.js';

let folder;
let path;
let nowMs;
let limits;
let rotated;
let isDropping;
let disk;
let file;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-log-file-'));
  path = join(folder, 'api-out.log');
  nowMs = new Date('2026-11-21T14:30:00').getTime();
  limits = { maxSizeBytes: 1_000_000, interval: 'never' };
  rotated = [];
  isDropping = false;
  disk = createDisk(() => 0);
  file = create();
});
afterEach(() => {
  file.close();
  rmSync(folder, { recursive: true, force: true });
});

const create = () =>
  createLogFile({
    disk,
    isDropping: () => isDropping,
    place: {
      path,
      user: () => null,
      nowMs: () => nowMs,
      limits: () => limits,
      openTimes,
      onRotated: (one) => rotated.push(one),
    },
  });

/** Fake times of a log file. The start time of a file identifies the contents of the file. */
function openTimes() {
  const noted = [];
  return {
    startedAtMs: nowMs,
    note: (offset, atMs) => noted.push([offset, atMs]),
    moveTo() {},
    discard() {},
    flush() {},
    close() {},
  };
}

function append(text, reports = []) {
  const waits = file.append(Buffer.from(text), (part, at) => reports.push([part.toString(), at && at.offset]));
  return { waits, reports };
}
const segments = () => readSegments(path).map((segment) => readFileSync(segment.path, 'utf8'));
const active = () => readFileSync(path, 'utf8');

function slowDisk() {
  const writes = [];
  disk = {
    isSlow: () => true,
    writeNow: createDisk(() => 0).writeNow,
    writeLater: (fd, bytes) =>
      new Promise((resolve, reject) =>
        writes.push({ fd, bytes, end: () => resolve(createDisk(() => 0).writeNow(fd, bytes)), fail: reject }),
      ),
  };
  file = create();
  return writes;
}

test('bytes are written unchanged, and their positions are reported', () => {
  expect([append('one\ntw').reports, append('o\n').reports]).toEqual([[['one\ntw', 0]], [['o\n', 6]]]);
  expect([active(), file.position().offset, statSync(path).mode & 0o777]).toEqual(['one\ntwo\n', 8, 0o600]);
});

describe('rotation', () => {
  test('a rotation happens after the last whole line that fits, and the rest starts the next file', () => {
    limits.maxSizeBytes = 10;
    expect(append('one\ntwo\nthr').reports).toEqual([
      ['one\ntwo\n', 0],
      ['thr', 0],
    ]);
    append('ee\n');
    expect([segments(), active(), rotated]).toEqual([['one\ntwo\n'], 'three\n', [path]]);
  });

  test('a rotation does not cut a line, unless the line has no end', () => {
    limits.maxSizeBytes = 10;
    append('x'.repeat(15));
    append('y'.repeat(10));
    expect(segments()).toEqual([]);
    append('z'.repeat(10));
    append('!');
    expect([segments(), active()]).toEqual([[`${'x'.repeat(15)}${'y'.repeat(10)}${'z'.repeat(10)}`], '!']);
  });

  test('a rotation happens with the first line of the next hour, and not for an empty file', () => {
    limits.interval = 'hourly';
    append('before\n');
    nowMs += 30 * 60_000 - 1;
    append('still before\n');
    nowMs += 1;
    append('after\n');
    expect([segments(), active()]).toEqual([['before\nstill before\n'], 'after\n']);
    expect(readSegments(path)[0].endedAtMs).toBe(nowMs);
  });

  test('a rotation that is due in the middle of a line waits for its end', () => {
    limits.interval = 'hourly';
    append('one\ntw');
    nowMs += 60 * 60_000;
    append('o');
    append('\nthree\n');
    expect([segments(), active()]).toEqual([['one\ntwo\n'], 'three\n']);
  });

  test('a rotation counts its time from the first line, however long the file was empty before', async () => {
    limits.interval = 'hourly';
    append('old\n');
    await file.truncate();
    nowMs += 5 * 60 * 60_000;
    append('one\n');
    append('two\n');
    expect([segments(), active()]).toEqual([[], 'one\ntwo\n']);
  });

  test('a rotation that failed is no longer reported when the file is another one, or is unused', () => {
    limits.maxSizeBytes = 10;
    append('one two three\n');
    unlinkSync(path);
    append('four five six\n');
    const said = file.notice();
    file.close();
    expect([said, file.notice()]).toEqual([expect.stringContaining('ENOENT'), null]);
  });

  test('a rotation that fails is reported, and the file grows', () => {
    limits.maxSizeBytes = 10;
    append('begin\n');
    renameSync(folder, `${folder}-moved`);
    try {
      append('one line\ntwo\n');
      append('three\n');
      expect(file.notice()).toMatch(/cannot be rotated \(ENOENT\) and grows/);
    } finally {
      renameSync(`${folder}-moved`, folder);
    }
    expect(active()).toBe('begin\none line\ntwo\nthree\n');
    nowMs += 1_001;
    append('four\n');
    expect([file.notice(), segments(), active()]).toEqual([null, ['begin\none line\ntwo\nthree\nfour\n'], '']);
  });

  test('a rotation loses and doubles no byte, for any chunks', () => {
    const random = createRandom(3);
    limits.maxSizeBytes = 200;
    let all = '';
    for (let at = 0; at < 1_000; at++) {
      const text = random() < 0.5 ? `line ${at}\n` : `${'x'.repeat(random() * 80)}${random() < 0.5 ? '\n' : ''}`;
      all += text;
      append(text);
      nowMs += 1;
    }
    expect(segments().join('') + active()).toBe(all);
    expect(segments().length).toBeGreaterThan(50);
  });
});

test('the log creates a removed file again within a second, and does not rotate a truncated one too early', () => {
  limits.maxSizeBytes = 20;
  append('one two three\n');
  unlinkSync(path);
  nowMs += 1_001;
  append('four five six\n');
  expect(active()).toBe('four five six\n');
  truncateSync(path);
  nowMs += 1_001;
  append('seven eight\n');
  expect([active(), segments()]).toEqual(['seven eight\n', []]);
});

test('reopen writes to the path, wherever the old file has been moved', () => {
  append('old\n');
  renameSync(path, `${path}.1`);
  append('still old\n');
  file.reopen();
  append('new\n');
  expect([readFileSync(`${path}.1`, 'utf8'), active()]).toEqual(['old\nstill old\n', 'new\n']);
});

test('emptying an unused file does not leave it open', async () => {
  append('old\n');
  file.close();
  await file.truncate();
  expect([active(), file.position()]).toEqual(['', null]);
});

test('truncate empties the file', async () => {
  append('old\n');
  await file.truncate();
  expect(append('new\n').reports).toEqual([['new\n', 0]]);
  expect(active()).toBe('new\n');
});

test('output that cannot be written is lost, counted and reported; later output starts a new line', () => {
  mkdirSync(path);
  expect(append('one\ntwo\n').reports).toEqual([['one\ntwo\n', null]]);
  expect([file.losses.recent(), file.notice()]).toMatchObject([
    { lines: 2, bytes: 8, reason: 'EISDIR' },
    expect.stringMatching(/^2 lines \(8 bytes\).*EISDIR.*nclust keeps trying/),
  ]);
  rmSync(path, { recursive: true });
  append('not yet\n');
  nowMs += 1_001;
  append('three\n');
  expect([active(), file.losses.recent()?.lines, file.notice()]).toEqual([
    'three\n',
    3,
    expect.stringContaining('the file is being written again'),
  ]);
});

test('the log ends the line that a full disk has cut, and puts nothing first into an emptied file', async () => {
  const real = createDisk(() => 0);
  let roomBytes = 6;
  disk = {
    ...real,
    writeNow(fd, bytes) {
      if (roomBytes === 0) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      const written = real.writeNow(fd, bytes.subarray(0, roomBytes));
      roomBytes -= written;
      return written;
    },
  };
  file = create();
  expect(append('one\ntwo\nthree\n').reports).toEqual([
    ['one\ntw', 0],
    ['o\nthree\n', null],
  ]);
  roomBytes = Infinity;
  append('four\n');
  expect(active()).toBe('one\ntw\nfour\n');
  roomBytes = 3;
  append('five\n');
  await file.truncate();
  roomBytes = Infinity;
  append('six\n');
  expect(active()).toBe('six\n');
});

test('a FIFO without a reader costs lines and does not block', () => {
  execFileSync('mkfifo', [path]);
  append('nobody\n');
  expect(file.losses.recent()).toMatchObject({ lines: 1, reason: 'ENXIO' });
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    nowMs += 1_001;
    append(`${'x'.repeat(200_000)}\n`);
    expect(file.losses.recent()).toMatchObject({ lines: 2, reason: 'EAGAIN' });
  } finally {
    closeSync(reader);
  }
});

describe('while the disk is slow', () => {
  test('append() asks its caller to wait until all is written, in order', async () => {
    const writes = slowDisk();
    const first = append('one\n');
    const second = append('two\n');
    expect([writes.length, first.waits, second.reports]).toEqual([1, expect.any(Promise), []]);
    writes[0].end();
    await expect.poll(() => writes.length).toBe(2);
    writes[1].end();
    await second.waits;
    expect([active(), first.reports, second.reports]).toEqual(['one\ntwo\n', [['one\n', 0]], [['two\n', 4]]]);
  });

  test('no caller waits if lines are to be dropped, and the surplus is counted', async () => {
    const writes = slowDisk();
    isDropping = true;
    limits.maxSizeBytes = 10_000_000;
    const big = `${'x'.repeat(1024 * 1024)}\n`;
    expect([append(big).waits, append('kept\n').waits ?? null, append('lost\n').waits]).toEqual([null, null, null]);
    expect(file.losses.recent()).toMatchObject({ lines: 2, reason: 'the disk is slow' });
    writes[0].end();
    await expect.poll(() => file.position().offset).toBe(big.length);
  });

  test('close waits for the write in progress', async () => {
    const writes = slowDisk();
    const { waits } = append('one\n');
    file.close();
    writes[0].end();
    await waits;
    expect([active(), file.position()]).toEqual(['one\n', null]);
  });

  test('a flood does not delay opening or emptying the file', async () => {
    const writes = slowDisk();
    append('one\n');
    append('two\n');
    append('three\n');
    const isEmpty = file.truncate();
    writes[0].end();
    await isEmpty;
    expect([active(), writes.length]).toEqual(['', 2]);
    renameSync(path, `${path}.1`);
    file.reopen();
    writes[1].end();
    await expect.poll(() => writes.length).toBe(3);
    writes[2].end();
    await expect.poll(() => file.isIdle()).toBe(true);
    expect([readFileSync(`${path}.1`, 'utf8'), active()]).toEqual(['two\n', 'three\n']);
  });

  test('a control that exits writes waiting lines at once, but not those that the other thread has written', () => {
    const writes = slowDisk();
    append('one\ntwo\n');
    append('three\n');
    createDisk(() => 0).writeNow(writes[0].fd, Buffer.from('one\n'));
    file.finish();
    expect(active()).toBe('one\ntwo\nthree\n');
  });

  test('a failed write is a loss', async () => {
    const writes = slowDisk();
    const { waits, reports } = append('one\n');
    writes[0].fail(Object.assign(new Error('gone'), { code: 'EIO' }));
    await waits;
    expect([reports, file.losses.recent()]).toMatchObject([[['one\n', null]], { lines: 1, reason: 'EIO' }]);
  });
});
