import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  overwriteSealed,
  readSealed,
  writeInNeed,
  writeSealed,
} from '../../../../daemon/control/state/durable-file.js';

let folder;
let reserve;
let file;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-reserve-'));
  reserve = join(folder, 'reserve');
  file = join(folder, 'state');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const full = (code = 'ENOSPC') => Object.assign(new Error(code), { code });

/** A disk that is full as long as the reserve exists. */
const whenRoom = (code) => () => {
  if (existsSync(reserve)) throw full(code);
  writeFileSync(file, 'new');
};

test('the first write reserves space, twice the size of its content', () => {
  writeInNeed(reserve, file, () => writeFileSync(file, 'x'));
  expect(statSync(reserve)).toMatchObject({ size: 64 * 1024 });
  expect(statSync(reserve).mode & 0o777).toBe(0o600);
  writeInNeed(reserve, file, () => writeFileSync(file, Buffer.alloc(50_000)));
  expect(statSync(reserve).size).toBe(100_000);
});

test.each(['ENOSPC', 'EDQUOT'])('%s: the write uses the reserved space, which is reserved again afterwards', (code) => {
  writeFileSync(reserve, 'room');
  writeInNeed(reserve, file, whenRoom(code));
  expect([statSync(file).size, statSync(reserve).size]).toEqual([3, 64 * 1024]);
});

test('a write fails with its own error if there is no reserved space', () => {
  expect(() =>
    writeInNeed(reserve, file, () => {
      throw full();
    }),
  ).toThrow('ENOSPC');
});

test('another error does not use the reserved space', () => {
  writeFileSync(reserve, 'room');
  expect(() =>
    writeInNeed(reserve, file, () => {
      throw full('EACCES');
    }),
  ).toThrow('EACCES');
  expect(existsSync(reserve)).toBe(true);
});

test.each(['state.new', 'state.bak.new', 'reserve'])('a link in place of %s is not followed', (name) => {
  const target = join(folder, 'target');
  writeFileSync(target, 'of somebody else');
  writeSealed(file, { v: 1, apps: [] });
  symlinkSync(target, join(folder, name));
  writeInNeed(reserve, file, () => writeSealed(file, { v: 1, apps: ['api'] }, `${file}.bak`));
  expect(readFileSync(target, 'utf8')).toBe('of somebody else');
  expect(readSealed(file)).toMatchObject({ kind: 'good', value: { apps: ['api'] } });
});

test('a value is written over a file that has the space, but not over one that does not', () => {
  writeSealed(file, { v: 1, apps: ['api'], tokens: ['a', 'b'] });
  expect(overwriteSealed(file, { v: 1, apps: ['api'], tokens: ['c'] })).toBe(true);
  expect(readSealed(file)).toMatchObject({ kind: 'good', value: { apps: ['api'], tokens: ['c'] } });
  expect(overwriteSealed(file, { v: 1, apps: ['x'.repeat(200_000)] })).toBe(false);
  expect(readSealed(file)).toMatchObject({ kind: 'good', value: { tokens: ['c'] } });
});
