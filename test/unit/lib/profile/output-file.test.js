import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createOutput } from '../../../../lib/profile/output-file.js';

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
