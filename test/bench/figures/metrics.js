import { readFileSync } from 'node:fs';
import { privateBytes } from '../../helpers/processes.js';
import { takePort } from '../../helpers/ports.js';
import { runProgram } from '../../helpers/run-program.js';
import { fetchOnce } from '../../helpers/sandbox-app.js';
import { pause } from '../../helpers/wait-for.js';
import { openArrivals, placeIdleServer } from '../apps.js';
import { cpuTicks, median, processesWith, TICKS_PER_SECOND } from '../measure.js';
import { openRival } from '../rivals.js';
import { openService } from '../services.js';
import { HAMMER } from './throughput.js';

/**
 * Both workers of a pair run on this core, so that a busy moment of the machine affects both. The
 * results of the pairs then differ by only 1 %.
 */
const CORE = '0';
const PAIRS_A_RUN = 5;
const WARM_SECONDS = 4;
const SECONDS = 6;
const UNMEASURED = ['--no-metrics'];
const CONNECTIONS = 32;
const INSTANCES = 20;
const REQUESTS_EACH = 50;
const SETTLE_MS = 4_000;
const COUNT = 500;
const WATCH_MS = 15_000;
const MB = 2 ** 20;

/** Measures what metrics cost the app and control. */
export async function measureMetrics({ runs }) {
  const measured = await beside([], UNMEASURED, runs);
  const same = await beside(UNMEASURED, UNMEASURED, runs);
  const added = await addedBytes(runs);
  const sampling = await samplingPercent(runs);
  return [
    {
      what: 'keep-alive requests that a busy core serves with metrics, beside --no-metrics',
      unit: 'x',
      nclust: measured,
      pm2: null,
      bound: 0.98,
      boundIs: '0.98 x',
      isAtLeast: true,
    },
    {
      what: 'the same of two workers without metrics: what this measure is worth',
      unit: 'x',
      nclust: same,
      pm2: null,
      bound: 0.98,
      boundIs: 'information',
      isInformation: true,
      isAtLeast: true,
    },
    {
      what: 'private memory that metrics add to a worker',
      unit: 'MB',
      nclust: added / MB,
      pm2: null,
      bound: 1,
      boundIs: '1 MB',
    },
    {
      what: `CPU of control with ${COUNT} processes sampled every second`,
      unit: '% of a core',
      nclust: sampling,
      pm2: null,
      bound: 5,
      boundIs: '5 %',
    },
  ];
}

/**
 * How many requests the first app serves with the CPU time that the second app needs for one
 * request. Returns the median of several pairs of fresh workers.
 */
async function beside(flags, otherFlags, runs) {
  const ratios = [];
  for (let pair = 0; pair < runs * PAIRS_A_RUN; pair += 1) ratios.push(await onePair(flags, otherFlags));
  return median(ratios);
}

async function onePair(flags, otherFlags) {
  const services = [];
  try {
    for (const given of [flags, otherFlags]) services.push(await openService('nclust', { workers: 1, flags: given }));
    const workers = services.map(({ url }) => processesWith('PORT', new URL(url).port).map(({ pid }) => pid));
    for (const pid of workers.flat()) await pin(pid);
    await hammerAll(services, WARM_SECONDS);
    const before = workers.map(cpuTicks);
    const requests = await hammerAll(services, SECONDS);
    const [cost, otherCost] = workers.map((pids, at) => (cpuTicks(pids) - before[at]) / requests[at]);
    return otherCost / cost;
  } finally {
    for (const service of services) await service.close();
  }
}

async function pin(pid) {
  const { exitStatus, stderr } = await runProgram('taskset', ['-a', '-c', '-p', CORE, String(pid)], {
    env: { PATH: process.env.PATH },
  }).done;
  if (exitStatus !== 0) throw new Error(`a worker cannot be given a core: ${stderr}`);
}

/** @returns {Promise<number[]>} */
function hammerAll(services, seconds) {
  return Promise.all(
    services.map(async ({ url }) => {
      const result = await runProgram(
        process.execPath,
        [HAMMER, 'keep-alive', new URL(url).port, String(CONNECTIONS), String(seconds)],
        { env: {} },
      ).done;
      const { requests, failed } = result.json();
      if (failed > 0) throw new Error(`${failed} of ${requests + failed} requests failed`);
      return requests;
    }),
  );
}

async function addedBytes(runs) {
  const added = [];
  for (let run = 0; run < runs; run += 1) added.push((await workerBytes([])) - (await workerBytes(UNMEASURED)));
  return median(added);
}

async function workerBytes(flags) {
  const rival = openRival('nclust');
  try {
    const arrivals = openArrivals(rival.folder);
    const port = await takePort();
    await rival.run(['start', placeIdleServer(rival.folder), '-i', String(INSTANCES), ...flags], {
      env: { PORT: String(port), ARRIVALS: arrivals.path },
    });
    await arrivals.until(INSTANCES);
    // Sends requests first, because the first garbage collection costs each worker 0.5 MB.
    for (let asked = 0; asked < INSTANCES * REQUESTS_EACH; asked += 1) await fetchOnce(`http://127.0.0.1:${port}/`);
    await pause(SETTLE_MS);
    return median(arrivals.pids().map(privateBytes));
  } finally {
    await rival.close();
  }
}

async function samplingPercent(runs) {
  const rival = openRival('nclust');
  try {
    await rival.run(['start', 'sleep', '-i', String(COUNT), '--', '100000']);
    await pause(SETTLE_MS);
    const control = rival
      .managerPids()
      .filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('nclust control'));
    if (control.length !== 1) throw new Error(`${control.length} processes are control`);
    const percents = [];
    for (let run = 0; run < runs; run += 1) {
      const before = cpuTicks(control);
      await pause(WATCH_MS);
      percents.push(((cpuTicks(control) - before) / TICKS_PER_SECOND / (WATCH_MS / 1000)) * 100);
    }
    return median(percents);
  } finally {
    await rival.close();
  }
}
