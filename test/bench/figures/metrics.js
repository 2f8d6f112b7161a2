import { readFileSync } from 'node:fs';
import { privateBytes } from '../../helpers/processes.js';
import { takePort } from '../../helpers/ports.js';
import { runProgram } from '../../helpers/run-program.js';
import { fetchOnce } from '../../helpers/sandbox-app.js';
import { pause } from '../../helpers/wait-for.js';
import { openArrivals, placeIdleServer } from '../apps.js';
import { cpuTicks, median, TICKS_PER_SECOND } from '../measure.js';
import { openRival } from '../rivals.js';
import { openService } from '../services.js';
import { HAMMER } from './throughput.js';

const SECONDS = 1;
/** Many short ones in turns: a busy moment of the machine lasts longer than one of them. */
const ROUNDS_A_RUN = 12;
const CONNECTIONS = 32;
const INSTANCES = 20;
const REQUESTS_EACH = 50;
const SETTLE_MS = 4_000;
const COUNT = 500;
const WATCH_MS = 15_000;
const MB = 2 ** 20;

/**
 * What measuring costs: the app, with and without it, and control.
 * @param {{runs: number}} o
 * @returns {Promise<import('../run.js').Row[]>}
 */
export async function measureMetrics({ runs }) {
  const { rate, cpu } = await throughput(runs);
  const [counted, uncounted] = [await workerBytes([]), await workerBytes(['--no-metrics'])];
  const sampling = await samplingPercent(runs);
  return [
    { what: 'keep-alive requests with metrics, beside --no-metrics', unit: 'x', nclust: rate, pm2: null, bound: 0.98, boundIs: '0.98 x', isAtLeast: true },
    { what: 'CPU per keep-alive request of a worker with metrics, beside --no-metrics', unit: 'x', nclust: cpu, pm2: null, bound: 1.02, boundIs: 'information', isInformation: true },
    { what: 'private memory that metrics add to a worker', unit: 'MB', nclust: (counted - uncounted) / MB, pm2: null, bound: 1, boundIs: '1 MB' },
    { what: `CPU of control with ${COUNT} processes sampled every second`, unit: '% of a core', nclust: sampling, pm2: null, bound: 5, boundIs: '5 %' },
  ];
}

/** Taken in pairs, whose order changes: what is told is the median of their ratios. @param {number} runs */
async function throughput(runs) {
  const services = [];
  /** @type {{rate: number, cpu: number}[]} */
  const pairs = [];
  try {
    services.push(await openService('nclust', { workers: 1 }), await openService('nclust', { workers: 1, flags: ['--no-metrics'] }));
    for (let round = 0; round <= runs * ROUNDS_A_RUN; round += 1) {
      const order = round % 2 === 0 ? [0, 1] : [1, 0];
      /** @type {{perSecond: number, cpuUs: number}[]} */
      const found = [];
      for (const at of order) found[at] = await hammer(services[at]);
      pairs.push({ rate: found[0].perSecond / found[1].perSecond, cpu: found[0].cpuUs / found[1].cpuUs });
    }
  } finally {
    for (const service of services) await service.close();
  }
  // The first round warms up.
  return { rate: median(pairs.slice(1).map(({ rate }) => rate)), cpu: median(pairs.slice(1).map(({ cpu }) => cpu)) };
}

/** @param {import('../services.js').Service} service */
async function hammer({ url, pids }) {
  const processes = pids();
  const before = cpuTicks(processes);
  const result = await runProgram(process.execPath, [HAMMER, 'keep-alive', new URL(url).port, String(CONNECTIONS), String(SECONDS)], { env: {} }).done;
  const { requests, failed } = result.json();
  if (failed > 0) throw new Error(`${failed} of ${requests + failed} requests failed`);
  return { perSecond: requests / SECONDS, cpuUs: (((cpuTicks(processes) - before) / TICKS_PER_SECOND) * 1e6) / requests };
}

/** @param {string[]} flags */
async function workerBytes(flags) {
  const rival = openRival('nclust');
  try {
    const arrivals = openArrivals(rival.folder);
    const port = await takePort();
    await rival.run(['start', placeIdleServer(rival.folder), '-i', String(INSTANCES), ...flags], { env: { PORT: String(port), ARRIVALS: arrivals.path } });
    await arrivals.until(INSTANCES);
    // The first collection costs each half a megabyte, and comes with the first bit of work, whoever does it.
    for (let asked = 0; asked < INSTANCES * REQUESTS_EACH; asked += 1) await fetchOnce(`http://127.0.0.1:${port}/`);
    await pause(SETTLE_MS);
    return median(arrivals.pids().map(privateBytes));
  } finally {
    await rival.close();
  }
}

/** @param {number} runs */
async function samplingPercent(runs) {
  const rival = openRival('nclust');
  try {
    await rival.run(['start', 'sleep', '-i', String(COUNT), '--', '100000']);
    await pause(SETTLE_MS);
    const control = rival.managerPids().filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('nclust control'));
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
