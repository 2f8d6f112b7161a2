import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createOutput } from '../../../../lib/profile/output-file.js';
import { isRoot, NOBODY, SECRET, userFolders } from '../../../helpers/other-user.js';

let file;

beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-output-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  file = join(folder, 'out');
});

test('the output file is readable only for its owner, and keep() returns its size', () => {
  const output = createOutput(file, process.pid);
  expect([output.writable, statSync(file).mode & 0o777]).toEqual([file, 0o600]);
  writeFileSync(output.writable, 'four');
  expect(output.keep()).toBe(4);
  output.discard();
  expect(readFileSync(file, 'utf8')).toBe('four');
});

test('discard() removes a file that was not kept', () => {
  const output = createOutput(file, process.pid);
  output.discard();
  output.discard();
  expect(existsSync(file)).toBe(false);
});

test('createOutput() does not overwrite a file, and reports another error if it cannot create one', () => {
  writeFileSync(file, 'precious');
  expect(() => createOutput(file, process.pid)).toThrow(
    expect.objectContaining({
      code: 'ERR_NCLUST_FILE_UNWRITABLE',
      message: expect.stringContaining('already exists'),
    }),
  );
  expect(readFileSync(file, 'utf8')).toBe('precious');
  expect(() => createOutput(join(file, 'below'), process.pid)).toThrow(
    expect.objectContaining({ code: 'ERR_NCLUST_FILE_UNWRITABLE' }),
  );
});

test('the error about a missing folder names it, and does not mention permissions', () => {
  const folder = join(file, '..', 'nonexist');
  expect(() => createOutput(join(folder, 'out'), process.pid)).toThrow(
    expect.objectContaining({
      code: 'ERR_NCLUST_FILE_UNWRITABLE',
      message: `The folder "${folder}" does not exist.`,
      hint: 'Create it, or give another file with --output.',
    }),
  );
});

describe.skipIf(!isRoot || process.platform !== 'linux')('in a folder of the user of the app, for root', () => {
  function outputIn(folders, { isOfNobody = false } = {}) {
    const child = isOfNobody ? spawn('sleep', ['60'], { ...NOBODY, stdio: 'ignore' }) : null;
    const output = createOutput(join(folders.own, 'out'), child?.pid ?? process.pid);
    onTestFinished(() => {
      child?.kill('SIGKILL');
      output.discard();
    });
    return output;
  }

  /** The user of the app can do this at any time. */
  function exchange(folders, path) {
    renameSync(path, `${path}.before`);
    symlinkSync(join(folders.closed, 'secret'), path);
  }

  const secretOf = ({ closed }) => readFileSync(join(closed, 'secret'), 'utf8').trim();

  test.each([
    ['root', false],
    ['another user', true],
  ])('a link in place of the file is not followed, for a process of %s', (_who, isOfNobody) => {
    const folders = userFolders();
    const output = outputIn(folders, { isOfNobody });
    exchange(folders, output.file);
    writeFileSync(output.writable, 'profile');
    expect(() => output.keep()).toThrow(/Another program has removed or replaced/);
    output.discard();
    expect(secretOf(folders)).toBe(SECRET);
    expect(existsSync(output.writable)).toBe(false);
  });

  test('a link in place of the temporary file is not followed', () => {
    const folders = userFolders();
    const output = outputIn(folders, { isOfNobody: true });
    onTestFinished(() => rmSync(`${output.writable}.before`));
    onTestFinished(() => rmSync(output.writable));
    exchange(folders, output.writable);
    output.write('profile');
    expect([output.keep(), readFileSync(output.file, 'utf8'), secretOf(folders)]).toEqual([7, 'profile', SECRET]);
  });

  test('discard() removes nothing in a folder that took the place of the first one', () => {
    const folders = userFolders();
    const folder = join(folders.own, 'd');
    mkdirSync(folder);
    const output = createOutput(join(folder, 'secret'), process.pid);
    renameSync(folder, `${folder}.before`);
    symlinkSync(folders.closed, folder);
    output.discard();
    expect(secretOf(folders)).toBe(SECRET);
    expect(existsSync(join(`${folder}.before`, 'secret'))).toBe(false);
  });

  test('keep() does not copy a file that is almost only holes', () => {
    const output = outputIn(userFolders(), { isOfNobody: true });
    truncateSync(output.writable, 2 ** 26);
    expect(() => output.keep()).toThrow(/almost empty, but claims 67108864 bytes/);
  });
});
