import { Agent } from 'node:http';
import { enter, openLedger, percentileMs } from '../../helpers/ledger.js';
import { exchange } from '../../helpers/traffic/exchange.js';
import { addressOf } from '../../helpers/traffic/target.js';
import { pause } from '../../helpers/wait-for.js';
import { openService } from '../services.js';

const WORKERS = 4;
const BLOCK_MS = 3_000;
const ASK_EVERY_MS = 10;

export async function measureBalance({ runs }) {
  const rows = [];
  for (const [count, bound] of [
    [64, 1.25],
    [16, 1.5],
  ]) {
    for (const how of ['burst', 'one by one']) {
      const busiest = async (name) =>
        worst(await withService(name, (url) => repeat(runs, () => spread(url, { count, how }))));
      rows.push({
        what: `${count} keep-alive connections on ${WORKERS} workers, ${how}: busiest over mean (worst run)`,
        unit: '',
        nclust: await busiest('nclust'),
        pm2: await busiest('PM2'),
        cluster: await busiest('cluster'),
        bound,
        boundIs: `${bound}`,
      });
    }
  }
  const wait = async (name) => worst(await withService(name, (url) => repeat(runs, () => longestWaitMs(url))));
  rows.push({
    what: `one of ${WORKERS} workers blocked for ${BLOCK_MS / 1000} s: longest wait of a new request (worst run)`,
    unit: 'ms',
    nclust: await wait('nclust'),
    pm2: await wait('PM2'),
    cluster: await wait('cluster'),
    bound: 200,
    boundIs: '200 ms',
  });
  return rows;
}

const worst = (values) => Math.max(...values);

async function withService(name, measure) {
  const service = await openService(name, { workers: WORKERS });
  try {
    return await measure(service.url);
  } finally {
    await service.close();
  }
}

async function repeat(times, measure) {
  const found = [];
  for (let run = 0; run < times; run += 1) found.push(await measure());
  return found;
}

/**
 * Connections of the busiest worker, divided by the mean of all workers.
 * @returns {Promise<number>}
 */
export async function spread(url, { count, how }) {
  const address = addressOf({ url });
  const agents = Array.from({ length: count }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  const ledger = openLedger();
  const ask = async (agent) =>
    enter(ledger, 'keep-alive', await exchange(address, { agent, path: '/', timeoutMs: 10_000 }), performance.now());
  if (how === 'burst') await Promise.all(agents.map(ask));
  else for (const agent of agents) await ask(agent);
  for (const agent of agents) agent.destroy();
  // Before the next run, the servers must notice that these connections are closed.
  await pause(200);
  if (ledger.ok !== count) throw new Error(`${ledger.ok} of ${count} connections were answered`);
  return (Math.max(...ledger.byPid.values()) * WORKERS) / count;
}

async function longestWaitMs(url) {
  const address = addressOf({ url });
  const ledger = openLedger();
  const blocked = exchange(address, { agent: false, path: `/block?ms=${BLOCK_MS}`, timeoutMs: BLOCK_MS * 3 });
  // Waits until the blocking request has reached a worker.
  await pause(100);
  const asked = [];
  for (const until = performance.now() + BLOCK_MS - 300; performance.now() < until;) {
    const sentMono = performance.now();
    asked.push(
      exchange(address, { agent: false, path: '/', timeoutMs: BLOCK_MS * 3 }).then((outcome) =>
        enter(ledger, 'one-shot', outcome, sentMono),
      ),
    );
    await pause(ASK_EVERY_MS);
  }
  await Promise.all(asked);
  const { bucket } = await blocked;
  if (bucket !== 'ok' || ledger.ok !== ledger.requests)
    throw new Error(`the blocked request was ${bucket}, ${ledger.ok} of ${ledger.requests} others were ok`);
  return percentileMs(ledger, 1);
}
