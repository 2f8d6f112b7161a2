import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { runWithDefaultOomScore, lowerOomScore } from '../../../../../lib/shared/daemon/oom-score.js';
import { sourceFiles } from '../../../../helpers/source-tree.js';

let file;
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-score-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  file = join(folder, 'oom_score_adj');
});

const score = () => readFileSync(file, 'utf8').trim();

test('a child process does not inherit the lowered score, and its parent keeps it', () => {
  writeFileSync(file, '0\n');
  lowerOomScore(file);
  expect(runWithDefaultOomScore(score, file)).toBe('0');
  expect(score()).toBe('-900');
});

test('the parent gets its score back if the start throws', () => {
  writeFileSync(file, '-900\n');
  const start = () => {
    throw new Error('no such program');
  };
  expect(() => runWithDefaultOomScore(start, file)).toThrow('no such program');
  expect(score()).toBe('-900');
});

test('a score that an administrator set is inherited', () => {
  writeFileSync(file, '-500\n');
  expect(runWithDefaultOomScore(score, file)).toBe('-500');
});

test('processes start on a system without OOM scores', () => {
  lowerOomScore(join(file, 'missing'));
  expect(runWithDefaultOomScore(() => 'started', join(file, 'missing'))).toBe('started');
  expect(existsSync(file)).toBe(false);
});

/** Source files that start processes with the score of keeper and control, and which processes. */
const KEEP = {
  'daemon/control/keeper-link/launch.js': 'the next keeper',
  'daemon/control/host/processes.js': 'ps, on systems without scores',
  'daemon/keeper/control-supervisor.js': 'control',
  'daemon/keeper/pipes.js': 'mkfifo, which ends at once',
  'daemon/keeper/host/unnamed-pipes.js': 'a process that makes pipes, and ends at once',
  'daemon/keeper/host/processes.js': 'ps, on systems without scores',
};

test('keeper and control start every process at the usual score', () => {
  const starters = sourceFiles('daemon/control', 'daemon/keeper').filter(({ code }) =>
    /from 'node:child_process'/.test(code),
  );
  expect(starters.length).toBeGreaterThan(Object.keys(KEEP).length);
  const others = starters.filter(({ path, code }) => !(path in KEEP) && !code.includes('runWithDefaultOomScore(() =>'));
  expect(others.map(({ path }) => path)).toEqual([]);
});
