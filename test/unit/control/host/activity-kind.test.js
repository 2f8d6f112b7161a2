import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  createActivityKinds,
  lookAtActivity,
  readActivityKind,
} from '../../../../daemon/control/host/activity-kind.js';

function look(state, cpuMs, delayMs, atMono) {
  return { atMono, state, cpuMs, delayMs };
}

test.each([
  ['computes', 'R', 'R', 380, 20],
  ['computes', 'R', 'S', 300, 0],
  ['computes', 'S', 'R', 250, 150],
  ['no-cpu', 'R', 'R', 80, 320],
  ['no-cpu', 'S', 'R', 150, 160],
  ['no-cpu', 'R', 'R', 0, 0],
  ['disk', 'D', 'D', 10, 0],
  ['waits', 'S', 'S', 0, 0],
  ['waits', 'R', 'S', 50, 20],
  ['waits', 'D', 'S', 20, 0],
  ['stopped', 'S', 'T', 0, 0],
  ['stopped', 'R', 't', 390, 0],
])('a process %s: states %s and %s, %i ms of CPU and %i ms of delay in 400 ms', (kind, first, then, cpuMs, delayMs) => {
  expect(readActivityKind(look(first, 70, 5, 1_000), look(then, 70 + cpuMs, 5 + delayMs, 1_400))).toBe(kind);
});

test('a look is at the main thread, not at the sum of all threads', () => {
  const proc = mkdtempSync(join(tmpdir(), 'nclust-proc-'));
  onTestFinished(() => rmSync(proc, { recursive: true }));
  const stat = (state, ticks) => `7 (a (b) c) ${state} 1 7 7 0 -1 0 0 0 0 0 ${ticks} 2 0 0 20 0 11 0 500 0 9`;
  mkdirSync(join(proc, '7/task/7'), { recursive: true });
  writeFileSync(join(proc, '7/stat'), stat('S', 1_000));
  writeFileSync(join(proc, '7/task/7/stat'), stat('D', 30));
  writeFileSync(join(proc, '7/schedstat'), '330000000 2500000 12\n');
  const at = (pid) => lookAtActivity(pid, { proc, nowMono: () => 5 });
  expect(at(7)).toEqual({ atMono: 5, state: 'D', cpuMs: 320, delayMs: 2.5 });
  expect(at(8)).toBe(null);
  // A kernel without CONFIG_SCHED_INFO has no such file.
  rmSync(join(proc, '7/schedstat'));
  expect(at(7)).toMatchObject({ cpuMs: 320, delayMs: 0 });
});

test('the kind of a process is known from the second look on, which comes later', () => {
  let nowMono = 0;
  let state = 'S';
  const read = createActivityKinds({
    look: (pid) => (pid === 9 ? null : look(state, 0, 0, nowMono)),
    nowMono: () => nowMono,
  });
  const kinds = [read([7, 9])];
  state = 'T';
  for (const ms of [100, 100, 1_000, 11_000]) {
    nowMono += ms;
    kinds.push(read([7, 9]));
  }
  expect(kinds.map((one) => one.get(7) ?? null)).toEqual([null, null, 'stopped', 'stopped', null]);
  expect(kinds.every((one) => !one.has(9))).toBe(true);
});

test.runIf(process.platform === 'linux')('a look at a real process has its figures', () => {
  const own = lookAtActivity(process.pid);
  expect(own).toMatchObject({ state: 'R' });
  expect(own?.cpuMs).toBeGreaterThan(0);
});
