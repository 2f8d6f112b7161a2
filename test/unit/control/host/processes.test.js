import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { createTreeReader, sharedBytes, findTrees } from '../../../../daemon/control/host/processes.js';

const row = (pid, ppid, start = 's') => ({ pid, ppid, rssBytes: pid, start });
const pidsOf = (trees, root) =>
  trees
    .get(root)
    ?.map(({ pid }) => pid)
    .sort((a, b) => a - b);

test('a tree is a process and all its descendants', () => {
  const rows = [row(1, 0), row(10, 1), row(11, 10), row(12, 11), row(20, 1), row(21, 20)];
  const trees = findTrees(rows, [10, 20, 99], new Map());
  expect([pidsOf(trees, 10), pidsOf(trees, 20), trees.has(99)]).toEqual([[10, 11, 12], [20, 21], false]);
});

test('a process that left its family still counts, but not a reused pid', () => {
  const seen = new Map([
    [
      10,
      new Map([
        [12, 's'],
        [13, 'old'],
      ]),
    ],
  ]);
  const rows = [row(10, 1), row(12, 1), row(13, 1, 'new'), row(14, 12)];
  expect(pidsOf(findTrees(rows, [10], seen), 10)).toEqual([10, 12, 14]);
});

test('a real process has its real child in its tree', async () => {
  // The child exits at the end of its input, which is a pipe from the parent.
  const program =
    'require("child_process").spawn(process.execPath, ["-e", "process.stdin.resume()"], { stdio: ["pipe", ' +
    '"inherit", "inherit"] }).on("spawn", () => console.log("there")); process.stdin.on("end", () => ' +
    'process.exit()).resume()';
  const parent = spawn(process.execPath, ['-e', program], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void parent.stdin.end());
  await once(parent.stdout, 'data');
  const pid = parent.pid;
  const tree = (await createTreeReader()([pid])).get(pid);
  expect(tree?.pids).toHaveLength(2);
  expect(tree?.pids).toContain(pid);
  expect(tree?.bytes).toBeGreaterThan(10 * 1024 ** 2);
  expect(tree?.bytes).toBeLessThan(1024 ** 3);
  // sharedBytes() counts a shared page only once, and two processes of one program share pages.
  if (process.platform === 'linux') expect(sharedBytes(tree?.pids ?? [])).toBeLessThan(tree?.bytes ?? 0);
});
