import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createManagerLog, openOwnLog } from '../../../../daemon/control/logs/manager-log.js';
import { readSegments } from '../../../../daemon/control/logs/archive/segments.js';

let folder;
let path;
let rotations;
let log;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-own-log-'));
  path = join(folder, 'nclust.log');
  rotations = 0;
  log = openOwnLog(path, { nowMs: () => 1_700_000_000_000, onRotated: () => (rotations += 1), maxSizeBytes: 1_000 });
});
afterEach(() => {
  closeSync(log.fd());
  rmSync(folder, { recursive: true, force: true });
});

test('text of an app cannot control the terminal that shows the log', () => {
  createManagerLog(log, () => 0)('agent-failed', { message: 'a\u009b2J\u202eb' });
  expect(readFileSync(path, 'utf8')).toContain('"a\\u009b2J\\u202eb"');
});

test('lines are in the file, for its owner only', () => {
  createManagerLog(log, () => 0)('began', { pid: 5 });
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
    at: '1970-01-01T00:00:00.000Z',
    from: 'control',
    event: 'began',
    pid: 5,
  });
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('a full file, with the lines of the keeper, becomes a segment, and a new file starts', () => {
  const keeper = openSync(path, 'a');
  writeSync(keeper, 'k'.repeat(990));
  log.write('from control\n');
  log.write('next\n');
  closeSync(keeper);
  expect(rotations).toBe(1);
  expect(readFileSync(path, 'utf8')).toBe('next\n');
  expect(readSegments(path)).toMatchObject([{ sizeBytes: 1_003 }]);
});

test.each([
  ['renamed', () => renameSync(path, `${path}.1`)],
  ['removed', () => rmSync(path)],
  ['replaced', () => (rmSync(path), writeFileSync(path, 'new\n'))],
])('a file that was %s is not written any more', (_what, act) => {
  log.write('before\n');
  act();
  log.write('after\n');
  expect(readFileSync(path, 'utf8')).toMatch(/^(new\n)?after\n$/);
});

test('a removed file comes back without a new line, and a link stays when its target is rotated', () => {
  log.restore();
  expect(readFileSync(path, 'utf8')).toBe('');
  rmSync(path);
  log.restore();
  expect(statSync(path).mode & 0o777).toBe(0o600);
  log.write('after\n');
  expect(readFileSync(path, 'utf8')).toBe('after\n');
  renameSync(path, join(folder, 'target.log'));
  symlinkSync('target.log', path);
  log.write('x'.repeat(1_000));
  expect(readdirSync(folder).sort()).toEqual(['nclust.log', 'target.log', expect.stringMatching(/^target__/)]);
  expect(readlinkSync(path)).toBe('target.log');
});

test('a missing home costs the log, not the manager', () => {
  rmSync(folder, { recursive: true });
  const managerLog = createManagerLog(log, () => 0);
  log.restore();
  for (let at = 0; at < 50; at++) managerLog('event', { text: 'x'.repeat(100) });
  expect(() => readdirSync(folder)).toThrow('ENOENT');
});
