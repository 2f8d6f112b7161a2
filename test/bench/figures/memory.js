import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { privateBytes } from '../../helpers/processes.js';
import { takePort } from '../../helpers/ports.js';
import { pause } from '../../helpers/wait-for.js';
import { openArrivals, placeIdleServer } from '../apps.js';
import { median } from '../measure.js';
import { openRival } from '../rivals.js';

const INSTANCES = 30;
const SETTLE_MS = 4_000;
const MB = 2 ** 20;

export async function measureMemory({ runs }) {
  const bare = await bareWorkerBytes();
  const ours = [];
  const theirs = [];
  for (let run = 0; run < runs; run += 1) {
    ours.push(await managed('nclust'));
    theirs.push(await managed('PM2'));
  }
  const own = median(ours.map((one) => one.managerBytes)) / MB;
  const pm2 = median(theirs.map((one) => one.managerBytes)) / MB;
  const added = median(ours.map((one) => one.workerBytes - bare)) / MB;
  const addedByPm2 = median(theirs.map((one) => one.workerBytes - bare)) / MB;
  return [
    {
      what: `private memory of the manager's own processes, ${INSTANCES} instances`,
      unit: 'MB',
      nclust: own,
      pm2,
      bound: pm2,
      boundIs: "PM2's",
    },
    {
      what: 'private memory added per worker over a bare node',
      unit: 'MB',
      nclust: added,
      pm2: addedByPm2,
      bound: 1,
      boundIs: '1 MB',
    },
  ];
}

async function managed(name) {
  const rival = openRival(name);
  try {
    const arrivals = openArrivals(rival.folder);
    await rival.run(['start', placeIdleServer(rival.folder), '-i', String(INSTANCES)], {
      env: { PORT: String(await takePort()), ARRIVALS: arrivals.path },
    });
    await arrivals.until(INSTANCES);
    await pause(SETTLE_MS);
    const managers = rival.managerPids();
    if (managers.length !== (name === 'nclust' ? 2 : 1))
      throw new Error(`${name} has ${managers.length} processes of its own`);
    return {
      managerBytes: managers.map(privateBytes).reduce((a, b) => a + b),
      workerBytes: median(arrivals.pids().map(privateBytes)),
    };
  } finally {
    await rival.close();
  }
}

/**
 * Measures processes without a manager. Starts as many processes as a manager has workers, because
 * memory pages that several processes share do not count as private.
 * @returns {Promise<number>}
 */
async function bareWorkerBytes() {
  const folder = mkdtempSync(join(tmpdir(), 'bench-bare-'));
  const arrivals = openArrivals(folder);
  const script = placeIdleServer(folder);
  const children = Array.from({ length: INSTANCES }, () =>
    spawn(process.execPath, [script], {
      env: { PATH: process.env.PATH, PORT: '0', ARRIVALS: arrivals.path },
      stdio: 'ignore',
    }),
  );
  try {
    await arrivals.until(INSTANCES);
    await pause(SETTLE_MS);
    return median(arrivals.pids().map(privateBytes));
  } finally {
    for (const child of children) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}
