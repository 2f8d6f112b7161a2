import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findZombies } from '../../../../lib/run/first-process.js';

test('findZombies() finds the zombies of a parent, whatever their names are', () => {
  const proc = mkdtempSync(join(tmpdir(), 'nclust-proc-'));
  onTestFinished(() => rmSync(proc, { recursive: true }));
  const lines = { 10: '10 (sh) S 1 10', 11: '11 (a ) Z 2 (b) Z 1 10', 12: '12 (sh) Z 10 10', 13: '13 (sh) Z 1 10' };
  for (const [pid, stat] of Object.entries(lines)) {
    mkdirSync(join(proc, pid));
    writeFileSync(join(proc, pid, 'stat'), stat);
  }
  // This process exits before its `stat` is read.
  mkdirSync(join(proc, '14'));
  mkdirSync(join(proc, 'self'));
  expect(findZombies(1, proc)).toEqual([11, 13]);
  expect(findZombies(1, join(proc, 'nowhere'))).toEqual([]);
});
