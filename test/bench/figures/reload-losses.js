import { lost } from '../../helpers/ledger.js';
import { ledgerTable } from '../../helpers/ledger-table.js';
import { startTraffic } from '../../helpers/traffic/traffic.js';
import { waitFor } from '../../helpers/wait-for.js';
import { openService } from '../services.js';

const CLIENTS = 20;
const RELOADS = 3;

const TRAFFIC = [
  ['keep-alive', 'http'],
  ['one-shot', 'http'],
  ['pipelined', 'http'],
  ['slow', 'http'],
  ['upload', 'http'],
  ['download', 'http'],
  ['keep-alive', 'https'],
  ['one-shot', 'https'],
  ['http2', 'h2'],
];

export async function measureReloadLosses() {
  const rows = [];
  for (const [kind, protocol] of TRAFFIC) {
    rows.push({
      what:
        `requests lost in ${RELOADS} reloads, ${CLIENTS} ${kind} ` +
        `clients${protocol === 'https' ? ' with TLS' : ''}, two workers`,
      unit: '',
      nclust: await reloadUnder('nclust', kind, protocol),
      pm2: await reloadUnder('PM2', kind, protocol),
      cluster: await reloadUnder('cluster', kind, protocol),
      bound: 0,
      boundIs: 'none',
    });
  }
  return rows;
}

async function reloadUnder(name, kind, protocol) {
  const service = await openService(name, { workers: 2, protocol });
  try {
    const traffic = startTraffic(
      { url: service.url },
      { [kind]: CLIENTS },
      { slowMs: [2_000, 4_000], transferMs: 1_000 },
    );
    for (let reload = 0; reload < RELOADS; reload += 1) {
      const before = traffic.ledger.requests;
      await service.reload();
      await waitFor('traffic between two reloads', () => traffic.ledger.requests > before + CLIENTS, {
        deadlineMs: 20_000,
      });
    }
    const ledger = await traffic.stop();
    process.stderr.write(`${name}\n${ledgerTable(ledger)}\n`);
    return lost(ledger);
  } finally {
    await service.close();
  }
}
