import { setup } from '../../helpers/install-frameworks.js';
import { startLoad } from '../../helpers/load.js';
import { takePort } from '../../helpers/ports.js';
import { placeTutorialApp, workForOneCoreAndABit } from '../../helpers/tutorial-app.js';
import { pause } from '../../helpers/wait-for.js';
import { openRival } from '../rivals.js';

const RATE = 50;
const SECONDS = 30;

/** Measures the share of answers within a second, at 50 requests/s for 30 s. */
export async function measureSlowRoute() {
  await setup();
  const share = async (...o) => (await serve(...o)) * 100;
  const single = await share('nclust', 'express-tutorial.js', []);
  const rows = [];
  for (const file of ['express-tutorial.js', 'express-cluster-tutorial.js']) {
    rows.push({
      what:
        `${file} -i max, ${RATE} slow requests/s for ${SECONDS} s: answers within 1 s (one process: ` +
        `${single.toFixed(0)} %)`,
      unit: '%',
      nclust: await share('nclust', file, ['-i', 'max']),
      pm2: await share('PM2', file, ['-i', 'max']),
      bound: 100,
      boundIs: 'all',
      isAtLeast: true,
    });
  }
  return rows;
}

async function serve(name, file, flags) {
  const rival = openRival(name);
  try {
    const port = await takePort();
    await rival.run(['start', placeTutorialApp(rival.folder, file), ...flags], {
      env: { PORT: String(port), WORK: String(workForOneCoreAndABit(RATE)) },
    });
    await pause(1_500);
    const load = startLoad(`http://127.0.0.1:${port}/api/slow`, { ratePerSecond: RATE, timeoutMs: 30_000 });
    await pause(SECONDS * 1_000);
    const ledger = await load.stop();
    return ledger.latenciesMs.filter((ms) => ms <= 1_000).length / ledger.requests;
  } finally {
    await rival.close();
  }
}
