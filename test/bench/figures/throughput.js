import { fileURLToPath } from 'node:url';
import { runProgram } from '../../helpers/run-program.js';
import { cpuTicks, median, TICKS_PER_SECOND } from '../measure.js';
import { openService } from '../services.js';

/** The client. */
export const HAMMER = fileURLToPath(new URL('../hammer.js', import.meta.url));
const SECONDS = 2;
/** Many short ones in turns: a busy moment of the machine lasts longer than one of them. */
const ROUNDS_A_RUN = 3;
const CONNECTIONS = 32;
const NAMES = /** @type {const} */ (['nclust', 'PM2', 'cluster']);

/** @typedef {Record<import('../services.js').ServiceName, number>} ByName */

/**
 * New connections and keep-alive requests per second, and what a new connection costs manager and workers, client on the same machine.
 * Taken in turns, so that a busy moment hits all three.
 * @param {{runs: number}} o
 * @returns {Promise<import('../run.js').Row[]>}
 */
export async function measureThroughput({ runs }) {
  const rows = [];
  for (const workers of [2, 4]) {
    const { perSecond, cpuUs } = await hammerAll('new', { workers, runs });
    rows.push(rate(`new connections, ${workers} workers`, perSecond, perSecond.PM2 * 2.2, "2.2 x PM2's"));
    rows.push(rate(`new connections, ${workers} workers`, perSecond, perSecond.cluster * 1.4, "1.4 x node:cluster's"));
    const keepAlive = await hammerAll('keep-alive', { workers, runs });
    rows.push(rate(`keep-alive requests, ${workers} workers`, keepAlive.perSecond, keepAlive.perSecond.cluster * 0.97, "0.97 x node:cluster's"));
    rows.push({ what: `CPU per new connection, manager and ${workers} workers`, unit: 'us', nclust: cpuUs.nclust, pm2: cpuUs.PM2, cluster: cpuUs.cluster, bound: cpuUs.cluster * 0.55, boundIs: "0.55 x node:cluster's" });
  }
  return rows;
}

/**
 * @param {string} what
 * @param {ByName} perSecond
 * @param {number} bound
 * @param {string} boundIs
 */
function rate(what, perSecond, bound, boundIs) {
  return { what, unit: '/s', nclust: perSecond.nclust, pm2: perSecond.PM2, cluster: perSecond.cluster, bound, boundIs, isAtLeast: true };
}

/**
 * @param {'new'|'keep-alive'} mode
 * @param {{workers: number, runs: number, names?: readonly import('../services.js').ServiceName[]}} o
 * @returns {Promise<{perSecond: ByName, cpuUs: ByName}>}  Medians.
 */
export async function hammerAll(mode, { workers, runs, names = NAMES }) {
  const services = [];
  /** @type {Record<string, {perSecond: number, cpuUs: number}[]>} */
  const found = { nclust: [], PM2: [], cluster: [] };
  try {
    for (const name of names) services.push(await openService(name, { workers }));
    for (let round = 0; round <= runs * ROUNDS_A_RUN; round += 1) for (const service of services) found[service.name].push(await hammer(service, mode));
  } finally {
    for (const service of services) await service.close();
  }
  // The first round warms up.
  const by = (/** @type {'perSecond'|'cpuUs'} */ key) => /** @type {ByName} */ (Object.fromEntries(names.map((name) => [name, median(found[name].slice(1).map((one) => one[key]))])));
  return { perSecond: by('perSecond'), cpuUs: by('cpuUs') };
}

/**
 * @param {import('../services.js').Service} service
 * @param {'new'|'keep-alive'} mode
 */
async function hammer({ name, url, pids }, mode) {
  const processes = pids();
  const before = cpuTicks(processes);
  const result = await runProgram(process.execPath, [HAMMER, mode, new URL(url).port, String(CONNECTIONS), String(SECONDS)], { env: {} }).done;
  const { requests, failed } = result.json();
  if (failed > 0) throw new Error(`${name}: ${failed} of ${requests + failed} requests failed`);
  return { perSecond: requests / SECONDS, cpuUs: (((cpuTicks(processes) - before) / TICKS_PER_SECOND) * 1e6) / requests };
}
