import { Agent } from 'node:http';
import { performance } from 'node:perf_hooks';
import { enter, openLedger } from './ledger.js';
import { exchange } from './traffic/exchange.js';
import { addressOf } from './traffic/target.js';
import { pause } from './wait-for.js';

/** @import { Bucket, Ledger } from './ledger.js' */
/** @import { Traffic as Load } from './traffic/traffic.js' */

export { ledgerLine } from './ledger-table.js';

/**
 * With `ratePerSecond`, requests do not wait for answers. Without it, each connection sends its
 * next request after the answer.
 * @param {string} url
 * @param {object} o
 * @param {number} [o.connections]
 * @param {number} [o.ratePerSecond]
 * @param {boolean} [o.keepAlive]  False: a new connection for each request.
 * @param {number} [o.timeoutMs]  A request that takes longer counts as hung.
 * @param {number} [o.pauseMs]
 * @returns {Load}
 */
export function startLoad(url, { connections = 4, ratePerSecond, keepAlive = false, timeoutMs = 5_000, pauseMs = 0 }) {
  const ledger = openLedger();
  const address = addressOf({ url });
  const agent = new Agent({ keepAlive, maxSockets: Infinity });
  /** @type {Set<Promise<void>>} */
  const inFlight = new Set();
  let isStopped = false;

  async function one() {
    const sentMono = performance.now();
    enter(
      ledger,
      keepAlive ? 'keep-alive' : 'one-shot',
      await exchange(address, { agent, path: address.path, timeoutMs }),
      sentMono,
    );
  }

  async function closedLoop() {
    while (!isStopped) {
      await one();
      // Pauses after a failure, because refused connections fail at once and would fill the ledger.
      await pause(ledger.failures.length > 0 ? Math.max(pauseMs, 1) : pauseMs);
    }
  }

  async function openLoop(/** @type {number} */ rate) {
    for (let sent = 0; !isStopped; sent += 1) {
      const dueMono = ledger.startedMono + (sent * 1000) / rate;
      if (dueMono > performance.now()) await pause(dueMono - performance.now());
      if (isStopped) return;
      const request = one();
      inFlight.add(request);
      void request.then(() => inFlight.delete(request));
    }
  }

  const loops =
    ratePerSecond === undefined ? Array.from({ length: connections }, closedLoop) : [openLoop(ratePerSecond)];
  return {
    ledger,
    async stop() {
      isStopped = true;
      await Promise.all(loops);
      await Promise.all(inFlight);
      agent.destroy();
      return ledger;
    },
  };
}
