import { performance } from 'node:perf_hooks';
import { enter, openLedger } from '../ledger.js';
import { createRandom } from '../random.js';
import { pause } from '../wait-for.js';
import { KINDS } from './kinds.js';
import { addressOf } from './target.js';

/** @import { Ledger } from '../ledger.js' */
/** @import { Kind } from './kinds.js' */
/** @import { Target } from './target.js' */

const random = createRandom(2);

/**
 * @typedef {object} Traffic
 * @property {Ledger} ledger
 * @property {() => Promise<Ledger>} stop  Waits for open requests.
 */

/**
 * Each client sends its next request after its answer.
 * @param {Target} target
 * @param {Partial<Record<Kind, number>>} clients
 * @param {object} [o]
 * @param {number} [o.timeoutMs]  Added to the requested delay. A request that takes longer counts
 *   as hung.
 * @param {[number, number]} [o.slowMs]  Range of the delay of slow requests. In real traffic: 2 000
 *   to 4 000.
 * @param {number} [o.transferMs]
 * @param {number} [o.sessionMs]  Default: until the server closes the session or the test stops the
 *   traffic.
 * @param {number} [o.pauseMs]  Mean of random pauses.
 * @param {number} [o.leastPauseMs]
 * @returns {Traffic}
 */
export function startTraffic(
  target,
  clients,
  {
    timeoutMs = 5_000,
    slowMs = [300, 600],
    transferMs = 300,
    sessionMs = 2 ** 31 - 1,
    pauseMs = 2,
    leastPauseMs = 0,
  } = {},
) {
  const ledger = openLedger();
  const address = addressOf(target);
  const stopper = new AbortController();
  const options = { timeoutMs, slowMs, transferMs, sessionMs, stopping: stopper.signal };
  const kinds = /** @type {[Kind, number][]} */ (Object.entries(clients));

  /** @param {Kind} kind */
  async function drive(kind) {
    const client = KINDS[kind](address, options);
    while (!stopper.signal.aborted) {
      const sentMono = performance.now();
      const outcomes = [await client.one()].flat();
      for (const outcome of outcomes) enter(ledger, kind, outcome, sentMono);
      // Pauses after a failure, because refused connections fail at once and would fill the ledger.
      const isBad = outcomes.some(({ bucket }) => bucket !== 'ok');
      await pause(Math.max(isBad ? 1 : 0, leastPauseMs + random() * 2 * pauseMs));
    }
    client.close();
  }

  const loops = kinds.flatMap(([kind, count]) => Array.from({ length: count }, () => drive(kind)));
  return {
    ledger,
    async stop() {
      stopper.abort();
      await Promise.all(loops);
      return ledger;
    },
  };
}
