import { takePort } from '../../helpers/ports.js';
import { runProgram } from '../../helpers/run-program.js';
import { openArrivals, placeIdleServer } from '../apps.js';
import { median } from '../measure.js';
import { openRival, timed } from '../rivals.js';

const INSTANCES = 30;

/**
 * How long `ls` takes, beside PM2's and beside a node that does nothing. Taken in turns, so that a busy moment hits all three.
 * @param {{runs: number}} o
 * @returns {Promise<import('../run.js').Row[]>}
 */
export async function measureListTime({ runs }) {
  const rivals = [openRival('nclust'), openRival('PM2')];
  /** @type {Record<string, number[]>} */
  const times = { nclust: [], PM2: [], node: [] };
  try {
    for (const rival of rivals) {
      const arrivals = openArrivals(rival.folder);
      await rival.run(['start', placeIdleServer(rival.folder), '-i', String(INSTANCES)], { env: { PORT: String(await takePort()), ARRIVALS: arrivals.path } });
      await arrivals.until(INSTANCES);
    }
    for (let run = 0; run < runs * 5 + 1; run += 1) {
      for (const rival of rivals) times[rival.name].push(await timed(() => rival.run(['ls'])));
      times.node.push(await timed(() => runProgram(process.execPath, ['-e', '0'], { env: {} }).done));
    }
  } finally {
    for (const rival of rivals) await rival.close();
  }
  const [ours, theirs, node] = [times.nclust, times.PM2, times.node].map((list) => median(list.slice(1)));
  return [
    { what: `\`ls\` with ${INSTANCES} instances`, unit: 'ms', nclust: ours, pm2: theirs, bound: theirs * 0.5, boundIs: "0.5 x PM2's" },
    { what: `\`ls\` against \`node -e 0\` (${node.toFixed(0)} ms)`, unit: 'ms', nclust: ours, pm2: theirs, bound: node * 1.4, boundIs: '1.4 x node -e 0' },
  ];
}

/**
 * @param {{runs: number}} o
 * @returns {Promise<import('../run.js').Row[]>}
 */
export async function measureLongList({ runs }) {
  const rival = openRival('nclust');
  try {
    const listTime = async () => {
      const times = [];
      for (let run = 0; run < runs * 5 + 1; run += 1) times.push(await timed(() => rival.run(['ls'])));
      return median(times.slice(1));
    };
    await rival.run(['start', 'sleep', '--name', 'one', '--no-wait', '--', '100000']);
    const short = await listTime();
    // Waited for: a list in the middle of 499 starts would measure those.
    await rival.run(['start', 'sleep', '--name', 'many', '-i', '499', '--', '100000']);
    const long = await listTime();
    return [{ what: 'time that 499 more processes add to `ls`', unit: 'ms', nclust: long - short, pm2: null, bound: 30, boundIs: '30 ms' }];
  } finally {
    await rival.close();
  }
}
