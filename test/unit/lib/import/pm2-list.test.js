import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readRunningPm2 } from '../../../../lib/import/pm2-list.js';

test.each([
  ['', null],
  ['nonsense', null],
  [String(process.pid), process.pid],
])('PM2 counts as running only if its pid file %j names a process', (text, pid) => {
  const home = mkdtempSync(join(tmpdir(), 'nclust-pm2-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  writeFileSync(join(home, 'pm2.pid'), text);
  expect(readRunningPm2(home)).toBe(pid);
});
