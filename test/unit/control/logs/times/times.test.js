import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTimes, readTimes } from '../../../../../daemon/control/logs/times/times.js';
import { timesFilePath } from '../../../../../daemon/control/logs/times/format.js';
import { createRandom } from '../../../../helpers/random.js';

const START_MS = 1_700_000_000_000;
let folder;
let path;
let nowMs;
let times;

beforeEach(() => {
  const home = mkdtempSync(join(tmpdir(), 'nclust-times-'));
  folder = join(home, '.times');
  path = join(home, 'a.log');
  nowMs = START_MS;
  times = open();
});
afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));

const open = () => createTimes(folder, path, { nowMs: () => nowMs });
const read = () => readTimes(folder, path);
const size = (bytes) => writeFileSync(path, Buffer.alloc(bytes));

function note(offset, ms) {
  nowMs += ms;
  times.note(offset, nowMs);
}

test('the time of an offset is the last time noted before it', () => {
  note(0, 5);
  note(100, 1_000);
  note(250, 3_600_000);
  times.flush();
  const { startedAtMs, atOf, offsetOf } = read();
  expect(startedAtMs).toBe(START_MS);
  expect([0, 99, 100, 249, 250, 9_999, 50].map((offset) => atOf(offset) - START_MS)).toEqual([
    5, 5, 1_005, 1_005, 3_601_005, 3_601_005, 5,
  ]);
  expect([0, 5, 6, 1_005, 1_006].map((ms) => offsetOf(START_MS + ms))).toEqual([0, 0, 100, 100, 250]);
  expect(offsetOf(START_MS + 3_601_006)).toBeNull();
});

test('times are noted 10 ms apart, so that a flood costs nothing', () => {
  for (let at = 0; at < 10_000; at++) note(at * 80, at % 10 === 0 ? 1 : 0);
  times.flush();
  expect(readFileSync(timesFilePath(folder, path)).length).toBeLessThan(600);
  expect(read().atOf(799_920) - nowMs).toBeGreaterThan(-10);
});

test('times become coarser the longer a file is not rotated: 2 MB hold a month of a steady trickle', () => {
  const month = 30 * 24 * 3_600_000;
  let offset = 0;
  // Writes every 20 ms until the times file reaches its first limits, and then every second.
  for (let at = 0; at < 3_000_000; at += 20) note((offset += 30), 20);
  const early = readFileSync(timesFilePath(folder, path)).length;
  for (let at = 3_000_000; at < month; at += 1_000) note((offset += 1_500), 1_000);
  times.flush();
  expect(early).toBeGreaterThan(256 * 1024);
  expect(readFileSync(timesFilePath(folder, path)).length).toBeLessThan(2 * 1024 * 1024);
  expect(Math.abs(read().atOf(offset) - nowMs)).toBeLessThanOrEqual(60_000);
});

test('a killed control loses no time of a trickle, and at most a second of a flood', () => {
  for (let at = 0; at < 5; at++) note(at * 10, 1_000);
  expect(read().atOf(40)).toBe(nowMs);
  for (let at = 5; at < 500; at++) note(at * 10, 15);
  expect(nowMs - read().atOf(5_000)).toBeLessThan(1_000);
});

test('the times continue after an earlier control, torn or not', () => {
  note(0, 10);
  note(100, 2_000);
  times.close();
  size(300);
  const file = timesFilePath(folder, path);
  const whole = readFileSync(file);
  writeFileSync(file, Buffer.concat([whole, Buffer.from([0x85])]));
  times = open();
  note(200, 2_000);
  times.close();
  expect(times.startedAtMs).toBe(START_MS);
  expect([0, 100, 200].map((offset) => read().atOf(offset) - START_MS)).toEqual([10, 2_010, 4_010]);
  truncateSync(file, readFileSync(file).length - 1);
  expect([0, 100, 200].map((offset) => read().atOf(offset) - START_MS)).toEqual([10, 2_010, 2_010]);
});

test.each([
  ['was cut short', () => size(50)],
  ['is empty', () => size(0)],
  ['is gone', () => rmSync(path, { force: true })],
])('the times start again when the file %s', (_, change) => {
  note(0, 10);
  note(100, 20);
  times.close();
  change();
  times = open();
  expect(times.startedAtMs).toBeGreaterThan(START_MS);
  note(0, 1_000);
  times.close();
  expect(read()).toMatchObject({ startedAtMs: times.startedAtMs });
  expect(read().atOf(500)).toBe(nowMs);
});

test('a rotation takes the times along, and the next content has another identity in the same millisecond', () => {
  note(0, 5);
  const first = times.startedAtMs;
  const segment = join(folder, '../a__1.log');
  nowMs = first;
  times.moveTo(segment);
  times.close();
  size(0);
  times = open();
  const second = times.startedAtMs;
  expect(second).toBeGreaterThan(first);
  expect(readTimes(folder, segment)).toMatchObject({ startedAtMs: first });
  expect(readTimes(folder, segment).atOf(0)).toBe(first + 5);
  times.discard();
  times.close();
  times = open();
  expect(times.startedAtMs).toBeGreaterThan(second);
});

test('a clock that is set back does not reverse the order', () => {
  note(0, 5_000);
  note(100, -4_000);
  note(200, 1_000);
  note(300, 4_000);
  times.flush();
  const all = [0, 100, 200, 300].map((offset) => read().atOf(offset));
  expect(all).toEqual([...all].sort());
  expect(all[3]).toBe(nowMs);
});

test.each([
  ['nothing', Buffer.alloc(0)],
  ['another text', Buffer.from('nclust-times 2 5 "x"\n')],
  ['bytes', Buffer.from(Array.from({ length: 300 }, (_, at) => (at * 91) % 256))],
  ['an endless header', Buffer.alloc(100_000, 0x61)],
])('a times file that contains %s is replaced', (_, bytes) => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(timesFilePath(folder, path), bytes);
  expect(read()).toBeNull();
  times = open();
  note(0, 10);
  times.close();
  expect(read().atOf(0)).toBe(nowMs);
});

test('garbage of any kind does no harm', () => {
  const random = createRandom(3);
  for (let round = 0; round < 200; round++) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      timesFilePath(folder, path),
      Buffer.concat([
        Buffer.from(`nclust-times 1 ${START_MS} "x"\n`),
        Buffer.from(Array.from({ length: 40 }, () => Math.floor(random() * 256))),
      ]),
    );
    const { atOf, offsetOf } = read();
    expect(
      [atOf(random() * 1e9), offsetOf(random() * 1e13)].every((value) => value === null || Number.isSafeInteger(value)),
    ).toBe(true);
    size(1_000);
    times = open();
    note(Math.floor(random() * 1_000), 1_000);
    times.close();
  }
});

test('times that cannot be kept break nothing, and later ones are right again', () => {
  mkdirSync(folder, { recursive: true });
  mkdirSync(timesFilePath(folder, path));
  note(0, 1_000);
  note(100, 1_000);
  rmSync(timesFilePath(folder, path), { recursive: true });
  note(200, 1_000);
  times.close();
  expect(read().atOf(200)).toBe(nowMs);
  expect(read().startedAtMs).toBe(times.startedAtMs);
  chmodSync(folder, 0o700);
});
