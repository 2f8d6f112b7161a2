import { existsSync } from 'node:fs';
import { describe, test } from 'vitest';
import { nextWrite, wholeLogLines } from '../../../helpers/log-files.js';
import { killIfThere } from '../../../helpers/processes.js';
import { sandbox } from '../../../helpers/sandbox.js';
import { expectLines, numbered, startTicks, writeThroughKills } from '../../../helpers/ticks.js';

describe('the log of a program that writes 1,000 lines a second', () => {
  test('the log neither loses nor repeats a line through 5 kills of control, 50 rotations and an update', async () => {
    const { found, expected } = await writeThroughKills(await sandbox(), { kills: 5, rotations: 50 });
    expectLines(found, expected);
  });

  test('the log loses no line when the keeper is killed', async () => {
    const home = await sandbox();
    const outFile = await startTicks(home);
    const { keeperPid } = await home.daemon();
    await nextWrite(outFile);
    process.kill(keeperPid, 'SIGKILL');
    await home.waitFor('the next keeper', async () => (await home.daemon()).keeperPid !== keeperPid);
    await nextWrite(outFile);
    const written = await home.waitFor('the log of the adopted process or its replacement', () =>
      existsSync(outFile) ? wholeLogLines(outFile) : null,
    );
    // Splits the log by process, because a process that replaces the app counts from 1 again.
    const lives = written
      .join('\n')
      .split(/\n(?=ticks 1\n)/)
      .map((life) => life.split('\n').filter((line) => /^ticks \d+$/.test(line)));
    for (const life of lives) expectLines(life, numbered('ticks', life.length));
    for (const { pid } of await home.list()) killIfThere(pid);
  });
});
