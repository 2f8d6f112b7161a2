import { mkdtempSync, readlinkSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { touch } from '../../../daemon/keeper/home.js';

test('a touch makes files look used, keeps the time of their content, and follows no link', () => {
  const root = mkdtempSync(join(tmpdir(), 'nclust-touch-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const [home, foreign] = [join(root, 'state.json'), join(tmpdir(), `nclust-foreign-${process.pid}`)];
  for (const file of [home, foreign]) {
    writeFileSync(file, '');
    utimesSync(file, 1_000, 2_000);
  }
  onTestFinished(() => rmSync(foreign));
  symlinkSync(foreign, join(root, 'link'));
  touch(root);
  expect(statSync(home).mtimeMs).toBe(2_000_000);
  expect(Date.now() - statSync(home).atimeMs).toBeLessThan(60_000);
  expect([readlinkSync(join(root, 'link')), statSync(foreign).atimeMs]).toEqual([foreign, 1_000_000]);
  touch(join(root, 'missing'));
});
