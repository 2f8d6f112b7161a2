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
/** Two processes of one program differ by up to a tenth, however long they are looked at: many fresh ones are. */
const PAIRS_A_RUN = 5;
/** Short ones in turns: a busy moment of the machine lasts longer than one of them. */
const ROUNDS_A_PAIR = 4;
const UNMEASURED = ['--no-metrics'];
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
  const { rate, cpu } = await beside([], UNMEASURED, runs);
  const same = await beside(UNMEASURED, UNMEASURED, runs);
  const [counted, uncounted] = [await workerBytes([]), await workerBytes(['--no-metrics'])];
  const sampling = await samplingPercent(runs);
  return [
    { what: 'keep-alive requests with metrics, beside --no-metrics', unit: 'x', nclust: rate, pm2: null, bound: 0.98, boundIs: '0.98 x', isAtLeast: true },
    { what: 'the same of two workers without metrics: what this measure is worth', unit: 'x', nclust: same.rate, pm2: null, bound: 0.98, boundIs: 'information', isInformation: true, isAtLeast: true },
    { what: 'CPU per keep-alive request of a worker with metrics, beside --no-metrics', unit: 'x', nclust: cpu, pm2: null, bound: 1.02, boundIs: 'information', isInformation: true },
    { what: 'private memory that metrics add to a worker', unit: 'MB', nclust: (counted - uncounted) / MB, pm2: null, bound: 1, boundIs: '1 MB' },
    { what: `CPU of control with ${COUNT} processes sampled every second`, unit: '% of a core', nclust: sampling, pm2: null, bound: 5, boundIs: '5 %' },
  ];
}

/**
 * Medians over pairs of fresh processes.
 * @param {string[]} flags
 * @param {string[]} otherFlags
 * @param {number} runs
 */
async function beside(flags, otherFlags, runs) {
  /** @type {{rate: number, cpu: number}[]} */
  const pairs = [];
  for (let pair = 0; pair < runs * PAIRS_A_RUN; pair += 1) pairs.push(await onePair(flags, otherFlags, pair % 2 === 1));
  return { rate: median(pairs.map(({ rate }) => rate)), cpu: median(pairs.map(({ cpu }) => cpu)) };
}

/**
 * @param {string[]} flags
 * @param {string[]} otherFlags
 * @param {boolean} isOtherFirst
 * @returns {Promise<{rate: number, cpu: number}>}
 */
async function onePair(flags, otherFlags, isOtherFirst) {
  /** @type {import('../services.js').Service[]} */
  const services = [];
  /** @type {{perSecond: number, cpuUs: number}[][]} */
  const found = [[], []];
  const order = isOtherFirst ? [1, 0] : [0, 1];
  try {
    for (const at of order) services[at] = await openService('nclust', { workers: 1, flags: [flags, otherFlags][at] });
    for (let round = 0; round <= ROUNDS_A_PAIR; round += 1) for (const at of round % 2 === 0 ? order : order.toReversed()) found[at].push(await hammer(services[at]));
  } finally {
    for (const at of order) await services[at]?.close();
  }
  // The first round warms up.
  const ratio = (/** @type {'perSecond'|'cpuUs'} */ key) => median(found[0].slice(1).map((one) => one[key])) / median(found[1].slice(1).map((one) => one[key]));
  return { rate: ratio('perSecond'), cpu: ratio('cpuUs') };
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
