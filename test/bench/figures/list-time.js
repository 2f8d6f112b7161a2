import { takePort } from '../../helpers/ports.js';
import { runProgram } from '../../helpers/run-program.js';
import { openArrivals, placeIdleServer } from '../apps.js';
import { median } from '../measure.js';
import { openRival, timed } from '../rivals.js';

const INSTANCES = 30;
const MANY = 500;

export async function measureListTime({ runs }) {
  return compare({ runs, what: `\`ls\` with ${INSTANCES} instances`, share: 0.65 }, async (rival) => {
    const arrivals = openArrivals(rival.folder);
    await rival.run(['start', placeIdleServer(rival.folder), '-i', String(INSTANCES)], {
      env: { PORT: String(await takePort()), ARRIVALS: arrivals.path },
    });
    await arrivals.until(INSTANCES);
  });
}

/** With MANY processes, `ls` needs most of its time to draw the table. */
export async function measureLongList({ runs }) {
  return compare({ runs, what: `\`ls\` with ${MANY} processes`, share: 0.9 }, async (rival) => {
    await rival.run(['start', 'sleep', '--name', 'many', '-i', String(MANY), '--', '100000']);
  });
}

/** Compares the time of `--version` and of `help` with the time of an empty Node.js program. */
export async function measureCommandTime({ runs }) {
  const rival = openRival('nclust');
  const times = { node: [], '--version': [], help: [] };
  try {
    for (let run = 0; run < runs * 5 + 1; run += 1) {
      times.node.push(await timed(() => runProgram(process.execPath, ['-e', '0'], { env: {} }).done));
      for (const word of ['--version', 'help']) times[word].push(await timed(() => rival.run([word])));
    }
  } finally {
    await rival.close();
  }
  const [node, ...ours] = Object.values(times).map((list) => median(list.slice(1)));
  return ['--version', 'help'].map((word, at) => ({
    what: `\`${word}\` against \`node -e 0\` (${node.toFixed(0)} ms)`,
    unit: 'ms',
    nclust: ours[at],
    pm2: null,
    bound: node * 2.5,
    boundIs: '2.5 x node -e 0',
  }));
}

/**
 * nclust and PM2 take turns, so that a busy moment of the machine affects both.
 * @param {{ runs: number, what: string, share: number }} o  `share`: nclust may take this
 *   share of PM2's time.
 */
async function compare({ runs, what, share }, prepare) {
  const rivals = [openRival('nclust'), openRival('PM2')];
  const times = { nclust: [], PM2: [] };
  try {
    for (const rival of rivals) await prepare(rival);
    for (let run = 0; run < runs * 5 + 1; run += 1)
      for (const rival of rivals) times[rival.name].push(await timed(() => rival.run(['ls'])));
  } finally {
    for (const rival of rivals) await rival.close();
  }
  const [ours, theirs] = [times.nclust, times.PM2].map((list) => median(list.slice(1)));
  return [{ what, unit: 'ms', nclust: ours, pm2: theirs, bound: theirs * share, boundIs: `${share} x PM2's` }];
}
