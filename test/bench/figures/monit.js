import { statSync } from 'node:fs';
import { join } from 'node:path';
import { noTmux, startTmux } from '../../helpers/tmux.js';
import { pause, waitFor } from '../../helpers/wait-for.js';
import { cpuTicks, median, processesWith, TICKS_PER_SECOND } from '../measure.js';
import { openRival } from '../rivals.js';

const COUNT = 100;
const SIZE = { columns: 200, rows: 50 };
const WATCH_MS = 15_000;

/** Measures monit while nothing changes. Skipped without tmux. */
export async function measureMonit({ runs }) {
  const missing = noTmux();
  if (missing) {
    process.stderr.write(`monit is left out: ${missing}\n`);
    return [];
  }
  const rival = openRival('nclust');
  const home = join(rival.folder, 'home');
  let screen = null;
  try {
    await rival.run(['start', 'sleep', '--name', 'many', '-i', String(COUNT), '--', '100000']);
    screen = startTmux(
      { home, work: rival.folder, env: { PATH: process.env.PATH, HOME: rival.folder } },
      { words: ['monit'], ...SIZE },
    );
    const pid = await shownBy(screen, home);
    const bytes = join(rival.folder, 'bytes');
    screen.record(bytes);
    await pause(3_000);
    const [percents, rates] = [[], []];
    for (let run = 0; run < runs; run += 1) {
      const before = { ticks: cpuTicks([pid]), bytes: statSync(bytes).size };
      await pause(WATCH_MS);
      percents.push(((cpuTicks([pid]) - before.ticks) / TICKS_PER_SECOND / (WATCH_MS / 1000)) * 100);
      rates.push((statSync(bytes).size - before.bytes) / 1000 / (WATCH_MS / 1000));
    }
    if (!(median(percents) > 0) || !(median(rates) > 0)) throw new Error(`monit has done nothing:\n${screen.text()}`);
    const what = `with ${COUNT} idle processes, ${SIZE.columns} x ${SIZE.rows}`;
    return [
      {
        what: `CPU of \`monit\` ${what}`,
        unit: '% of a core',
        nclust: median(percents),
        pm2: null,
        bound: 5,
        boundIs: '5 %',
      },
      {
        what: `written by \`monit\` ${what}`,
        unit: 'kB/s',
        nclust: median(rates),
        pm2: null,
        bound: 2,
        boundIs: '2 kB/s',
      },
    ];
  } finally {
    screen?.close();
    await rival.close();
  }
}

/** @returns {Promise<number>} */
async function shownBy(screen, home) {
  const isShown = (text) =>
    waitFor(`${text} on the screen`, () => text.test(screen.text()), { deadlineMs: 30_000, context: screen.text });
  await isShown(new RegExp(`many +online ${COUNT}/${COUNT}`));
  screen.press('*');
  await isShown(/└ \d+ +online|├ \d+ +online/);
  const found = processesWith('NCLUST_HOME', home).find(({ command }) => / monit$/.test(command));
  if (!found) throw new Error('monit is on the screen, and there is no such process.');
  return found.pid;
}
