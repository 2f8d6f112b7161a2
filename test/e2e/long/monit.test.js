import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { expectCleanEnd, SAYS, startCode } from '../../helpers/monit-screen.js';
import { sandbox } from '../../helpers/sandbox.js';
import { noTmux, openMonit } from '../../helpers/tmux.js';

const missing = noTmux();
const SIZES = [
  { columns: 80, rows: 24 },
  { columns: 200, rows: 50 },
];

describe.skipIf(missing)(`monit on a real terminal${missing ? ` (${missing})` : ''}`, () => {
  test.each(SIZES)(
    'monit asks before restart, reload, scale and stop, and then does them, at $columns x $rows',
    async (size) => {
      const home = await sandbox();
      await startCode(home, 'api', SAYS, '-i', '2');
      const screen = openMonit(home, size);
      await screen.see(/^> +- api +online 2\/2/m);
      const pidsOf = async () => (await home.list()).map(({ pid }) => pid);
      const before = await pidsOf();
      screen.press('R');
      await screen.see('Restart "api" (2 instances)? y/n');
      screen.press('n', 'j', 'R');
      await screen.see('Restart "api", id 0 only? y/n');
      screen.press('y');
      await screen.see('Restarted "api", id 0 only');
      const after = await pidsOf();
      expect([after[0] === before[0], after[1] === before[1]]).toEqual([false, true]);
      screen.press('g', 'r', 'y');
      await screen.see('Reloaded "api" (2 instances)');
      screen.press('+');
      await screen.see('Started one more instance of "api"');
      await screen.see(/api +online 3\/3/);
      screen.press('-', 'y');
      await screen.see(/api +online 2\/2/);
      screen.press('s', 'y');
      await screen.see(/api +stopped 0\/2/);
      screen.press('q');
      await expectCleanEnd(screen, 0);
    },
  );

  test.each([
    ['q', 0],
    ['C-c', 0],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
    ['SIGINT', 0],
  ])('monit restores the terminal after %s', async (way, status) => {
    const home = await sandbox();
    await startCode(home, 'api', SAYS);
    const screen = openMonit(home, { columns: 80, rows: 24 });
    await screen.see(/^> +0 +api +online/m);
    if (way.startsWith('SIG')) process.kill(await screen.monitPid(), way);
    else screen.press(way);
    await screen.see('ended with');
    await home.waitFor('monit to exit', () => /echo$/.test(screen.text()));
    expect(screen.text()).toMatch(new RegExp(`^before\\n(?:.*\\n)?ended with ${status}\\nicanon\\necho$`));
    expect(screen.modes()).toBe('0 1 1');
  });

  test('monit restores the terminal after a bug and shows the error', async () => {
    const home = await sandbox();
    await startCode(home, 'api', SAYS);
    const fault = join(home.work, 'fault.cjs');
    writeFileSync(fault, 'process.on("SIGUSR2", () => { throw new Error("this is a bug"); });');
    const screen = openMonit(home, { columns: 80, rows: 24 }, { NODE_OPTIONS: `--require=${fault}` });
    await screen.see(/^> +0 +api +online/m);
    process.kill(await screen.monitPid(), 'SIGUSR2');
    await screen.see(/^before\n[^]*Error: this is a bug[^]*ended with \d+\nicanon\necho$/);
    expect(screen.modes()).toBe('0 1 1');
  });

  test('monit exits when its terminal is closed, and the manager and the apps run on', async () => {
    const home = await sandbox();
    await startCode(home, 'api', SAYS);
    const screen = openMonit(home, { columns: 80, rows: 24 });
    await screen.see(/^> +0 +api +online/m);
    const pid = await screen.monitPid();
    const [others, before] = [await home.daemon(), await home.list()];
    screen.hangUp();
    await home.waitFor('monit to exit', () => !home.processes().some((one) => one.pid === pid));
    expect(await home.daemon()).toMatchObject({ keeperPid: others.keeperPid, controlPid: others.controlPid });
    expect(await home.list()).toMatchObject([{ pid: before[0].pid, status: 'online' }]);
  });

  test('monit shows, sorts, filters and scrolls five hundred workers', async () => {
    const home = await sandbox();
    await home.nclust('start', 'sleep', '--name', 'many', '-i', '499', '--no-wait', '--', '100000');
    await startCode(home, 'api', SAYS);
    const screen = openMonit(home, { columns: 120, rows: 30 });
    await screen.see(/\+ many +online 499\/499/);
    screen.press('g', 'Down', 'Right');
    await screen.see(/└ 0 +online/);
    screen.press('End');
    await screen.see(/^> +\d+ +└ 498 +online/m);
    screen.press('PageUp', 'o', 'o');
    await screen.see('mem▾');
    screen.type('/498');
    screen.press('Enter');
    await screen.see(/└ 498 +online/);
    await home.waitFor('the other workers to disappear', () => !/└ 497 /.test(screen.text()));
    screen.press('q');
    await expectCleanEnd(screen, 0);
  });

  test('monit writes little while nothing changes, and no colours with NO_COLOR', async () => {
    const home = await sandbox();
    await startCode(home, 'api', 'setInterval(() => {}, 1e6)', '-i', '4');
    const screen = openMonit(home, { columns: 80, rows: 24 }, { NO_COLOR: '1' });
    await screen.see(/api +online 4\/4/);
    const file = join(home.work, 'bytes');
    screen.record(file);
    const manager = await home.wire();
    const figures = async () => (await manager.request('metrics', { workers: false })).atMs;
    const beganMs = await figures();
    await home.waitFor('ten more seconds of figures', async () => (await figures()) - beganMs >= 10_000, {
      deadlineMs: 20_000,
    });
    const bytes = statSync(file).size;
    // A screen without any update would also write little, but must not pass.
    expect(bytes).toBeGreaterThan(0);
    expect(bytes / (((await figures()) - beganMs) / 1_000)).toBeLessThan(2_000);
    expect(readFileSync(file, 'utf8')).not.toMatch(/\u001b\[[\d;]*(?:3[0-7]|9[0-7])[;m]/);
    expect(screen.painted()).not.toMatch(/\u001b\[[\d;]*3[0-7]m/);
    screen.press('q');
    await expectCleanEnd(screen, 0);
  });
});
