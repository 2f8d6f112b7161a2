import { median } from '../measure.js';
import { timed } from '../rivals.js';
import { openService } from '../services.js';

const BOOT_MS = 100;
const WORKERS = 4;

/**
 * nclust watches the first new worker for min_uptime before it stops an old worker, unless the
 * worker sends `ready`. PM2 does not watch new workers, and neither does nclust with
 * `--min-uptime 0`. `--max-surge 4` starts all new workers at once.
 */
export async function measureReloadTime({ runs }) {
  const theirs = await reloadMs('PM2', runs);
  const what = `reload of ${WORKERS} workers that boot in ${BOOT_MS} ms`;
  const bound = {
    pm2: theirs,
    cluster: await reloadMs('cluster', runs),
    unit: 'ms',
    bound: theirs * 0.6,
    boundIs: "0.6 x PM2's",
  };
  return [
    { what, nclust: await reloadMs('nclust', runs), ...bound },
    { what: `${what}, --wait-ready`, nclust: await reloadMs('nclust', runs, ['--wait-ready']), ...bound },
    {
      what: `${what}, --min-uptime 0 --max-surge 4`,
      nclust: await reloadMs('nclust', runs, ['--min-uptime', '0', '--max-surge', '4']),
      ...bound,
    },
  ];
}

async function reloadMs(name, runs, flags) {
  const service = await openService(name, {
    workers: WORKERS,
    env: { BOOT_MS: String(BOOT_MS), SENDS_READY: '1' },
    flags,
  });
  try {
    const times = [];
    for (let run = 0; run <= runs; run += 1) times.push(await timed(service.reload));
    return median(times.slice(1));
  } finally {
    await service.close();
  }
}
