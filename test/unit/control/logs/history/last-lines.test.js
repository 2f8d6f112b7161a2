import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findLineFrom } from '../../../../../daemon/control/logs/history/last-lines.js';
import { LINE_MAX_BYTES } from '../../../../../lib/shared/daemon/lines.js';

test('a line without an end is not read to the end of the file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-lines-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'a.log');
  const content = { file, plainPath: file, user: null, compression: null, startedAtMs: 0, endedAtMs: null };
  const find = (text) => {
    writeFileSync(file, text);
    return findLineFrom(content, 1, new AbortController().signal);
  };
  expect(await find('a\nb\n')).toBe(2);
  const size = 20 * LINE_MAX_BYTES;
  expect(await find('x'.repeat(size))).toBeLessThan(size / 2);
});
