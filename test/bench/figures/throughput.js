import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { runProgram } from '../../helpers/run-program.js';
import { cpuTicks, median, TICKS_PER_SECOND } from '../measure.js';
import { openService } from '../services.js';
/** @import { ServiceName } from '../services.js' */

export const HAMMER = fileURLToPath(new URL('../hammer.js', import.meta.url));
const SECONDS = 1;
/** Processes of one program differ by up to a tenth, so each run measures several fresh sets. */
const SETS_A_RUN = 2;
/** Services take turns in short rounds, so that a busy moment of the machine affects all. */
const ROUNDS_A_SET = 4;
/** Rounds that do not count, because each worker first compiles its hot code. */
const WARM_UP_ROUNDS = 3;
const CONNECTIONS = 32;
/** With fewer clients, the clients would be slower than the service, and limit the result. */
const CLIENTS = Math.max(1, Math.min(CONNECTIONS, Math.floor(availableParallelism() / 2)));
const NAMES = ['nclust', 'PM2', 'cluster'];

/** The clients run on the same machine as the services. */
export async function measureThroughput({ runs }) {
  const rows = [];
  for (const workers of [2, 4]) {
    const ofNew = await hammerAll('new', { workers, runs });
    const what = `new connections, ${workers} workers`;
    rows.push({ ...row(what, ofNew, 'perSecond', 'PM2'), bound: 2.2, boundIs: "2.2 x PM2's", isAtLeast: true });
    rows.push({
      ...row(what, ofNew, 'perSecond', 'cluster'),
      bound: 1.4,
      boundIs: "1.4 x node:cluster's",
      isAtLeast: true,
    });
    rows.push({
      ...row(`CPU per new connection, manager and ${workers} workers`, ofNew, 'cpuUs', 'cluster'),
      bound: 0.55,
      boundIs: "0.55 x node:cluster's",
    });
    const ofKeepAlive = await hammerAll('keep-alive', { workers, runs });
    rows.push({
      ...row(`keep-alive requests, ${workers} workers`, ofKeepAlive, 'perSecond', 'cluster'),
      bound: 0.97,
      boundIs: "0.97 x node:cluster's",
      isAtLeast: true,
    });
  }
  return rows;
}

/** @param {ServiceName} peer */
function row(what, sets, key, peer) {
  const of = (name) => median(sets.map((set) => set[name][key]));
  return {
    what,
    unit: key === 'perSecond' ? '/s' : 'us',
    nclust: of('nclust'),
    pm2: of('PM2'),
    cluster: of('cluster'),
    ratio: median(sets.map((set) => set.nclust[key] / set[peer][key])),
  };
}

/** @returns {Promise<Record<ServiceName, Found>[]>}  Medians of each set. */
async function hammerAll(mode, { workers, runs }) {
  const sets = [];
  for (let set = 0; set < runs * SETS_A_RUN; set += 1) sets.push(await hammerSet(mode, workers));
  return sets;
}

async function hammerSet(mode, workers) {
  const services = [];
  const found = { nclust: [], PM2: [], cluster: [] };
  try {
    for (const name of NAMES) services.push(await openService(name, { workers }));
    for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS_A_SET; round += 1) {
      // Rotates the order, so that each service is sometimes the first.
      services.push(...services.splice(0, 1));
      for (const service of services) found[service.name].push(await hammer(service, mode));
    }
  } finally {
    for (const service of services) await service.close();
  }
  const of = (name) => ({
    perSecond: median(found[name].slice(WARM_UP_ROUNDS).map((one) => one.perSecond)),
    cpuUs: median(found[name].slice(WARM_UP_ROUNDS).map((one) => one.cpuUs)),
  });
  return { nclust: of('nclust'), PM2: of('PM2'), cluster: of('cluster') };
}

async function hammer({ name, url, pids }, mode) {
  const processes = pids();
  const before = cpuTicks(processes);
  const results = await Promise.all(
    Array.from(
      { length: CLIENTS },
      () =>
        runProgram(
          process.execPath,
          [HAMMER, mode, new URL(url).port, String(Math.ceil(CONNECTIONS / CLIENTS)), String(SECONDS)],
          { env: {} },
        ).done,
    ),
  );
  const sum = (key) => results.reduce((total, result) => total + result.json()[key], 0);
  if (sum('failed') > 0)
    throw new Error(`${name}: ${sum('failed')} of ${sum('requests') + sum('failed')} requests failed`);
  return {
    perSecond: sum('requests') / SECONDS,
    cpuUs: (((cpuTicks(processes) - before) / TICKS_PER_SECOND) * 1e6) / sum('requests'),
  };
}
