import { describe, expect, test } from 'vitest';
import { expectCleanEnd, SAYS, startCode } from '../helpers/monit-screen.js';
import { sandbox } from '../helpers/sandbox.js';
import { noTmux, openMonit } from '../helpers/tmux.js';

test('monit without a terminal prints one picture, as text or as JSON', async () => {
  const home = await sandbox();
  expect(await home.nclust('monit')).toMatchObject({
    exitStatus: 3,
    stderr: expect.stringContaining('No nclust runs'),
  });
  await startCode(home, 'api', SAYS, '-i', '2');
  const picture = await home.nclust('monit');
  expect(picture).toMatchObject({ exitStatus: 0, stderr: '' });
  expect(picture.stdout).toMatch(/^cpu [\d.]+% of \d+, memory .* load .*\n┌/);
  expect(picture.stdout).toMatch(/│ +│ api +│ .*online 2\/2/);
  expect(picture.stdout).not.toContain('\u001b');
  const { workers, apps } = (await home.nclust('monit', '--json')).json();
  expect(apps).toMatchObject([{ name: 'api', workers: 2 }]);
  expect(workers).toHaveLength(2);
});

const missing = noTmux();

describe.skipIf(missing)(`monit on a real terminal${missing ? ` (${missing})` : ''}`, () => {
  const SIZES = [
    { columns: 80, rows: 24 },
    { columns: 200, rows: 50 },
  ];

  /**
   * Whether the screen fills the whole width, without remains of another size. From 140 columns on,
   * a border must be beside the table.
   */
  function isWhole(text, { columns, rows }) {
    const lines = text.replace(/[日本]/g, 'xx').split('\n');
    expect([lines.length, lines[0].length], text).toEqual([rows, columns - 1]);
    expect(lines[0], text).toMatch(/^ nclust {2}cpu .* {2}2 apps {2}3 workers$/);
    expect(lines.at(-1), text).toMatch(/^ \? help {2}q quit .* s stop/);
    expect(text).toMatch(/^> +- api +online 2\/2 +[\d.]+%/m);
    expect(text).toMatch(/word \d+ of/);
    expect(
      lines.filter((line) => line.length === columns && /── api: 2 of 2 online ─+$/.test(line)),
      text,
    ).toHaveLength(1);
    const border = columns < 140 ? -1 : lines[1].indexOf('│');
    expect(
      lines.slice(1, -1).filter((line) => line.indexOf('│') !== border || line.lastIndexOf('│') !== border),
      text,
    ).toEqual([]);
    return columns < 140 || border > 0;
  }

  test.each(SIZES)('the keys reach every feature at $columns x $rows, with the terminal resized', async (size) => {
    const home = await sandbox();
    await startCode(home, 'api', SAYS, '-i', '2');
    await startCode(home, 'wörk-日本', SAYS);
    const screen = openMonit(home, size);
    await screen.see(/^> +- api +online 2\/2 +[\d.]+%/m);
    await screen.see(/── api: 2 of 2 online/);
    await screen.see(/word \d+ of/);
    await screen.see('wörk-日本');
    expect(screen.modes()).toBe('1 0 0');
    const pids = (await home.list()).map(({ pid }) => pid);

    screen.press('Down', 'Down');
    await screen.see(new RegExp(`api, instance 1 · id 1 · online · pid ${pids[1]}`));
    await screen.see(new RegExp(`word \\d+ of ${pids[1]}`));
    screen.press('Home', 'Enter');
    await screen.see(/^> +\+ api/m);
    screen.press('Right');
    await screen.see(/^> +- api/m);
    screen.type('/wö');
    await screen.see('Rows with: wö_');
    screen.press('Enter');
    await home.waitFor('the table to show only matching rows', () => !screen.text().includes(' api '));
    screen.press('Escape');
    await screen.see(/- api/);
    screen.press('g', 'o');
    await screen.see('cpu▾');
    screen.press('O', 'o', 'o', 'o', 'o');
    await screen.see('name▴');
    screen.press('t');
    await screen.see('── last 6 hours · api: 2 of 2 online');
    screen.press('t');
    await screen.see('── api: 2 of 2 online');
    screen.press('?');
    await screen.see('The table');
    screen.press('x', 'e');
    await screen.see(/── events ─[^]*is up/);

    screen.resize({ columns: 60, rows: 16 });
    await screen.see(/^── api: 2 of 2 online ─+$/m);
    screen.resize({ columns: 150, rows: 40 });
    await screen.see(/│── api: 2 of 2 online/);
    screen.resize(size);
    await home.waitFor('the full screen after the resize', () => isWhole(screen.text(), size));

    screen.press('g', 'l');
    await screen.see(/following · \/ mark/);
    screen.press('Up');
    await screen.see(/newer below, G follows/);
    screen.press('G', '/');
    screen.type('error line');
    screen.press('Enter');
    await screen.see(/marked "error line", n N/);
    await screen.see(/! an error line/);
    screen.press('&');
    screen.type('0 of');
    screen.press('Enter');
    await home.waitFor('only matching lines', () => {
      const lines = screen
        .text()
        .split('\n')
        .slice(1, -1)
        .filter((line) => line.trim());
      return lines.length > 0 && lines.every((line) => /\d*0 of/.test(line));
    });
    screen.press('q', 'q');
  });

  test('monit reconnects after a kill of control, reports the end of the manager, and finds the next one', async () => {
    const home = await sandbox();
    await startCode(home, 'api', SAYS);
    const screen = openMonit(home, { columns: 80, rows: 24 });
    await screen.see(/^> +0 +api +online/m);
    const { controlPid } = await home.daemon();
    process.kill(controlPid, 'SIGKILL');
    await home.waitFor('the next control', async () => (await home.daemon()).controlPid !== controlPid);
    await screen.see(/^ nclust {2}cpu/);
    await screen.see(/word \d+/);
    await home.nclust('save');
    await home.nclust('kill');
    await screen.see('No manager runs. Waiting until one is started ...');
    screen.press('R');
    await screen.see('There is no connection to the manager');
    await home.nclust('resurrect');
    await screen.see(/^ nclust {2}cpu/);
    await screen.see(/^> +0 +api +online/m);
    await screen.see(/word \d+/);
    screen.press('q');
    await expectCleanEnd(screen, 0);
  });
});
