import { lost } from '../../helpers/ledger.js';
import { ledgerTable } from '../../helpers/ledger-table.js';
import { startTraffic } from '../../helpers/traffic/traffic.js';
import { waitFor } from '../../helpers/wait-for.js';
import { openService } from '../services.js';

const CLIENTS = 20;
const RELOADS = 3;

/** @type {import('../../helpers/traffic/kinds.js').Kind[]} */
const KINDS = ['keep-alive', 'one-shot', 'slow', 'upload', 'download'];

/**
 * Requests lost in three reloads of a plain two-worker app, one kind of traffic after the other.
 * @returns {Promise<import('../run.js').Row[]>}
 */
export async function measureReloadLosses() {
  const rows = [];
  for (const kind of KINDS) {
    const ours = await reloadUnder('nclust', kind);
    rows.push({
      what: `requests lost in ${RELOADS} reloads, ${CLIENTS} ${kind} clients, two workers`,
      unit: '',
      nclust: ours,
      pm2: await reloadUnder('PM2', kind),
      cluster: await reloadUnder('cluster', kind),
      bound: 0,
      boundIs: 'none',
    });
  }
  return rows;
}

/**
 * @param {import('../services.js').ServiceName} name
 * @param {import('../../helpers/traffic/kinds.js').Kind} kind
 * @returns {Promise<number>}
 */
export async function reloadUnder(name, kind) {
  const service = await openService(name, { workers: 2 });
  try {
    const traffic = startTraffic({ url: service.url }, { [kind]: CLIENTS }, { slowMs: [2_000, 4_000], transferMs: 1_000 });
    for (let reload = 0; reload < RELOADS; reload += 1) {
      const before = traffic.ledger.requests;
      await service.reload();
      await waitFor('traffic between two reloads', () => traffic.ledger.requests > before + CLIENTS, { deadlineMs: 20_000 });
    }
    const ledger = await traffic.stop();
    process.stderr.write(`${name}\n${ledgerTable(ledger)}\n`);
    return lost(ledger);
  } finally {
    await service.close();
  }
}
