import { performance } from 'node:perf_hooks';
import { enter, openLedger } from '../ledger.js';
import { createRandom } from '../random.js';
import { pause } from '../wait-for.js';
import { KINDS } from './kinds.js';
import { addressOf } from './target.js';

/** @import { Ledger } from '../ledger.js' */
/** @import { Kind } from './kinds.js' */
/** @import { Target } from './target.js' */

/** The same pauses in each run. Which client gets which of them depends on timing. */
const random = createRandom(2);

/**
 * @typedef {object} Traffic
 * @property {Ledger} ledger  So far.
 * @property {() => Promise<Ledger>} stop  Sends nothing more, and waits for open requests.
 */

/**
 * Clients of several kinds at once, each of which sends its next request after its answer, until
 * stopped.
 * @param {Target} target
 * @param {Partial<Record<Kind, number>>} clients  Number of each kind.
 * @param {object} [o]
 * @param {number} [o.timeoutMs]  After this time beyond its requested delay, a request counts as
 *   hung. Default 5 000.
 * @param {[number, number]} [o.slowMs]  Default 300 to 600. Real traffic has 2 000 to 4 000.
 * @param {number} [o.transferMs]  Default 300.
 * @param {number} [o.sessionMs]  Of WebSockets. Default: until the server closes them or the
 *   traffic is stopped.
 * @param {number} [o.pauseMs]  Between answer and next request: at random up to twice that. Default
 *   2.
 * @param {number} [o.leastPauseMs]  Added to each pause. Default 0.
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
      // A refused connection fails at once. Without a pause, one refusing instant would be counted
      // ten thousand times.
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
