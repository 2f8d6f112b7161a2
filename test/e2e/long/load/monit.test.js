import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sandbox } from '../../../helpers/sandbox.js';
import { noTmux, openMonit } from '../../../helpers/tmux.js';

/** An app that writes 10,000 lines a second, and catches up when it is late. */
const FLOODS =
  'const begunMs = Date.now(); let n = 0; setInterval(() => { const due = (Date.now() - begunMs) * 10; let ' +
  'text = ""; while (n < due) text += "flooding with line " + (n += 1) + " that has some length to it\\n"; ' +
  'process.stdout.write(text); }, 20);';

/** Time limit from a key to the screen, in ms. */
const AT_ONCE_MS = 1_000;

/** The app writes this many lines in 4 s. monit must show them within 5 s. */
const LINES = 40_000;
const LINES_MS = 5_000;

const missing = noTmux();

describe.skipIf(missing)(`monit on a real terminal${missing ? ` (${missing})` : ''}`, () => {
  test('monit shows ten thousand lines a second and still answers each key within a second', async () => {
    const home = await sandbox();
    await home.app('keeps-alive', { name: 'api' });
    await home.app('runs-code', { name: 'zflood', flags: ['--log-max-size', '5M'], env: { CODE: FLOODS } });
    const screen = openMonit(home, { columns: 80, rows: 24 });
    const seeAtOnce = (text) => screen.see(text, { deadlineMs: AT_ONCE_MS });
    await screen.see('zflood');
    screen.press('G', 'l');
    await screen.see(/flooding with line[^]*following/);
    screen.record(join(home.work, 'bytes'));
    for (let round = 0; round < 5; round += 1) {
      screen.press('?');
      await seeAtOnce('The table');
      screen.press('x');
      await seeAtOnce(/^> .* zflood/m);
      screen.press('l');
      await seeAtOnce(/flooding[^]*following/);
    }

    const arrived = () => {
      const shown = screen.text();
      return (
        Number(/line (\d+) (?!.*\n.*flooding)/.exec(shown)?.[1]) -
        Number(/([\d,]+) lines came too fast/.exec(shown)?.[1].replaceAll(',', '') ?? 0)
      );
    };
    const before = arrived();
    expect(before).toBeGreaterThan(0);
    await home.waitFor(
      `${LINES} more lines`,
      () => {
        const more = arrived() - before;
        if (more >= LINES) return true;
        throw new Error(`${more} have arrived`);
      },
      { deadlineMs: LINES_MS },
    );

    screen.press('Up');
    await seeAtOnce(/newer below, G follows/);
    screen.press('G');
    await seeAtOnce('following');
    screen.press('&');
    screen.type('no such text');
    screen.press('Enter');
    await home.waitFor('a screen without lines', () => !screen.text().includes('flooding'));
    screen.press('q', 'q');
    await screen.see(/^before\nended with 0\nicanon\necho$/);
    expect(screen.modes()).toBe('0 1 1');
    expect(statSync(join(home.work, 'bytes')).size).toBeLessThan(2_000_000);
  });
});
