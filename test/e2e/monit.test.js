import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sandbox } from '../helpers/sandbox.js';
import { noTmux, openMonit } from '../helpers/tmux.js';

const SAYS = 'let n = 0; setInterval(() => console.log("word", ++n, "of", process.pid), 200); console.error("an error line"); require("node:http").createServer((_, res) => res.end("ok")).listen(0);';

/** @param {import('../helpers/sandbox.js').Sandbox} home @param {string} name @param {string} code @param {...string} flags */
async function start(home, name, code, ...flags) {
  const result = await home.nclust('start', home.place('runs-code', `${name.length}-${flags.length}`), '--name', name, ...flags, { env: { CODE: code } });
  expect(result.stderr + result.stdout).toContain('tarted');
}

test('where there is no terminal one picture is printed, as text or as JSON', async () => {
  const home = await sandbox();
  expect(await home.nclust('monit')).toMatchObject({ exitStatus: 3, stderr: expect.stringContaining('No nclust runs') });
  await start(home, 'api', SAYS, '-i', '2');
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

describe.skipIf(missing)(`on a real terminal${missing ? ` (${missing})` : ''}`, () => {
  /** @param {ReturnType<typeof openMonit>} screen @param {number} status */
  async function isClean(screen, status) {
    await screen.see(new RegExp(`^before\\nended with ${status}\\nicanon\\necho$`));
    expect(screen.modes()).toBe('0 1 1');
  }

  const SIZES = [{ columns: 80, rows: 24 }, { columns: 200, rows: 50 }];

  /**
   * From the first row to the last, over the whole width, and nothing is left of another size. From 140 columns on a border leads down beside the table.
   * @param {string} text
   * @param {{columns: number, rows: number}} size
   */
  function isWhole(text, { columns, rows }) {
    const lines = text.replace(/[日本]/g, 'xx').split('\n');
    expect([lines.length, lines[0].length], text).toEqual([rows, columns - 1]);
    expect(lines[0], text).toMatch(/^ nclust {2}cpu .* {2}2 apps {2}3 workers$/);
    expect(lines.at(-1), text).toMatch(/^ \? help {2}q quit .* s stop/);
    expect(text).toMatch(/^> +- api +online 2\/2 +[\d.]+%/m);
    expect(text).toMatch(/word \d+ of/);
    expect(lines.filter((line) => line.length === columns && /── api: 2 of 2 online ─+$/.test(line)), text).toHaveLength(1);
    const border = columns < 140 ? -1 : lines[1].indexOf('│');
    expect(lines.slice(1, -1).filter((line) => line.indexOf('│') !== border || line.lastIndexOf('│') !== border), text).toEqual([]);
    return columns < 140 || border > 0;
  }

  test.each(SIZES)('keys lead through every feature at $columns x $rows, resized while it runs', async (size) => {
    const home = await sandbox();
    await start(home, 'api', SAYS, '-i', '2');
    await start(home, 'wörk-日本', SAYS);
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
    await home.waitFor('the filtered table', () => !screen.text().includes(' api '));
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
    await home.waitFor('the whole screen', () => isWhole(screen.text(), size));

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
    await home.waitFor('filtered lines', () => {
      const lines = screen.text().split('\n').slice(1, -1).filter((line) => line.trim());
      return lines.length > 0 && lines.every((line) => /\d*0 of/.test(line));
    });
    screen.press('q', 'q');
  });

  test.each(SIZES)('restart, reload, scale and stop ask first, and are done, at $columns x $rows', async (size) => {
    const home = await sandbox();
    await start(home, 'api', SAYS, '-i', '2');
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
    await screen.see('Started one more of "api"');
    await screen.see(/api +online 3\/3/);
    screen.press('-', 'y');
    await screen.see(/api +online 2\/2/);
    screen.press('s', 'y');
    await screen.see(/api +stopped 0\/2/);
    screen.press('q');
    await isClean(screen, 0);
  });

  test.each(/** @type {const} */ ([['q', 0], ['C-c', 0], ['SIGTERM', 143], ['SIGHUP', 129], ['SIGINT', 0]]))('the terminal is as it was after %s', async (way, status) => {
    const home = await sandbox();
    await start(home, 'api', SAYS);
    const screen = openMonit(home, { columns: 80, rows: 24 });
    await screen.see(/^> +0 +api +online/m);
    if (way.startsWith('SIG')) process.kill(await screen.monitPid(), way);
    else screen.press(way);
    await screen.see('ended with');
    await home.waitFor('the end', () => /echo$/.test(screen.text()));
    expect(screen.text()).toMatch(new RegExp(`^before\\n(?:.*\\n)?ended with ${status}\\nicanon\\necho$`));
    expect(screen.modes()).toBe('0 1 1');
  });

  test('the terminal is as it was after a bug, and the error is on it', async () => {
    const home = await sandbox();
    await start(home, 'api', SAYS);
    const fault = join(home.work, 'fault.cjs');
    writeFileSync(fault, 'process.on("SIGUSR2", () => { throw new Error("this is a bug"); });');
    const screen = openMonit(home, { columns: 80, rows: 24 }, { NODE_OPTIONS: `--require=${fault}` });
    await screen.see(/^> +0 +api +online/m);
    process.kill(await screen.monitPid(), 'SIGUSR2');
    await screen.see(/^before\n[^]*Error: this is a bug[^]*ended with \d+\nicanon\necho$/);
    expect(screen.modes()).toBe('0 1 1');
  });

  test('a terminal that goes away takes monit with it, and nothing else', async () => {
    const home = await sandbox();
    await start(home, 'api', SAYS);
    const screen = openMonit(home, { columns: 80, rows: 24 });
    await screen.see(/^> +0 +api +online/m);
    const pid = await screen.monitPid();
    const [others, before] = [await home.daemon(), await home.list()];
    screen.hangUp();
    await home.waitFor('its end', () => !home.processes().some((one) => one.pid === pid));
    expect(await home.daemon()).toMatchObject({ keeperPid: others.keeperPid, controlPid: others.controlPid });
    expect(await home.list()).toMatchObject([{ pid: before[0].pid, status: 'online' }]);
  });

  test('a control that is killed is found again; a manager that has ended is said to, and found when it is back', async () => {
    const home = await sandbox();
    await start(home, 'api', SAYS);
    const screen = openMonit(home, { columns: 80, rows: 24 });
    await screen.see(/^> +0 +api +online/m);
    const { controlPid } = await home.daemon();
    process.kill(controlPid, 'SIGKILL');
    await home.waitFor('the next control', async () => (await home.daemon()).controlPid !== controlPid);
    await screen.see(/^ nclust {2}cpu/);
    await screen.see(/word \d+/);
    await home.nclust('save');
    await home.nclust('kill');
    await screen.see('No manager runs. It is shown when one is started.');
    screen.press('R');
    await screen.see('The manager is away');
    await home.nclust('resurrect');
    await screen.see(/^ nclust {2}cpu/);
    await screen.see(/^> +0 +api +online/m);
    await screen.see(/word \d+/);
    screen.press('q');
    await isClean(screen, 0);
  });

  test('five hundred workers are shown, ordered, filtered and walked through', async () => {
    const home = await sandbox();
    await home.nclust('start', 'sleep', '--name', 'many', '-i', '499', '--no-wait', '--', '100000');
    await start(home, 'api', SAYS);
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
    await home.waitFor('the others to be left out', () => !/└ 497 /.test(screen.text()));
    screen.press('q');
    await isClean(screen, 0);
  });

  test('little is written while nothing happens, and no colour where none is wanted', async () => {
    const home = await sandbox();
    await start(home, 'api', 'setInterval(() => {}, 1e6)', '-i', '4');
    const screen = openMonit(home, { columns: 80, rows: 24 }, { NO_COLOR: '1' });
    await screen.see(/api +online 4\/4/);
    const file = join(home.work, 'bytes');
    screen.record(file);
    const manager = await home.wire();
    const figures = async () => (await manager.request('metrics', { workers: false })).atMs;
    const beganMs = await figures();
    await home.waitFor('ten more seconds of figures', async () => (await figures()) - beganMs >= 10_000, { deadlineMs: 20_000 });
    const bytes = statSync(file).size;
    // A terminal that shows nothing new would pass as well.
    expect(bytes).toBeGreaterThan(0);
    expect(bytes / (((await figures()) - beganMs) / 1_000)).toBeLessThan(2_000);
    expect(readFileSync(file, 'utf8')).not.toMatch(/\u001b\[[\d;]*(?:3[0-7]|9[0-7])[;m]/);
    expect(screen.painted()).not.toMatch(/\u001b\[[\d;]*3[0-7]m/);
    screen.press('q');
    await isClean(screen, 0);
  });
});
