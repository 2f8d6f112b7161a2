import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { wholeLogLines } from '../../helpers/log-files.js';
import { sandbox } from '../../helpers/sandbox.js';
import { expectLines, numbered } from '../../helpers/ticks.js';

const LINES = 100_000;

async function runToItsEnd(home, fixture, end, flags = []) {
  await home.nclust('start', home.place(fixture), '--no-wait', '--no-autorestart', ...flags, {
    env: { LINES: String(LINES), END: end },
  });
  return home.waitFor(
    'the program to be listed as stopped',
    async () => (await home.list()).find((one) => one.status === 'stopped'),
    { deadlineMs: 60_000 },
  );
}

describe.each(['exit', 'throw', 'kill'])(`${LINES} lines and then %s: the log has each line once, in order`, (end) => {
  test.each([
    ['fork mode', []],
    ['cluster mode', ['-i', '1']],
  ])('the log of a Node.js app in %s has each line once, in order', async (_, flags) => {
    const home = await sandbox();
    const slot = await runToItsEnd(home, 'floods-stdout', end, flags);
    expectLines(wholeLogLines(slot.outFile), numbered('floods-stdout out', LINES));
    expectLines(
      wholeLogLines(slot.errorFile).filter((line) => line.startsWith('floods-stdout err')),
      numbered('floods-stdout err', LINES / 10).map((line, at) => line.replace(/\d+$/, String((at + 1) * 10))),
    );
    if (end === 'throw') expect(readFileSync(slot.errorFile, 'utf8')).toMatch(/floods-stdout is done\n +at /);
  });

  test.each(['floods-python.py', 'floods-shell.sh'])('the log of %s has each line once, in order', async (fixture) => {
    const home = await sandbox();
    const slot = await runToItsEnd(home, fixture, end);
    expectLines(wholeLogLines(slot.outFile), numbered('floods out', LINES));
    if (end === 'throw' && fixture.endsWith('.py'))
      expect(readFileSync(slot.errorFile, 'utf8')).toContain('RuntimeError: floods is done');
  });
});

test('lines that a full disk loses are counted and shown, the app runs on, and a new file gets its lines', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { flags: ['-o', '/dev/full'] });
  await home.nclust('restart', app.name);
  expect((await fetch(app.url)).status).toBe(200);
  expect((await home.nclust('list')).stderr).toMatch(
    /lines \(\d+ bytes\) could not be written to the log file "\/dev\/full" \(ENOSPC\)/,
  );
  const described = await home.nclust('describe', app.name);
  expect(described.stdout + described.stderr).toContain('ENOSPC');
  await home.nclust('restart', app.name, '-o', join(home.work, 'kept.log'));
  await home.waitFor(
    'the first line of the new process',
    () =>
      existsSync(join(home.work, 'kept.log')) && readFileSync(join(home.work, 'kept.log'), 'utf8').includes('listens'),
  );
});
