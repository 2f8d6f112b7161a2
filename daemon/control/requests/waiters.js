import { NclustError } from '../../../lib/shared/errors.js';
import { reloadError } from '../rollout/reload-error.js';
import { adviseOnListed, describeOutcome, notUpError } from './outcome.js';

/** @import { Receipt } from '../state/desired.js' */
/** @import { Registry } from '../state/registry.js' */

/**
 * @typedef {object} Waiter
 * @property {Receipt} receipt
 * @property {() => void} onCheck
 * @property {() => void} resolve
 * @property {(error: Error) => void} reject
 */

/**
 * @typedef {object} Waiters
 * @property {(receipt: Receipt, signal?: AbortSignal, onCheck?: () => void) => Promise<void>} add
 *   Resolves when the request is done, or on abort. Rejects if a slot or the reload fails, or if
 *   the manager shuts down before all slots of `receipt.up` are up.
 * @property {() => void} answer  Called after every change.
 */

/**
 * @param {Registry} registry
 * @returns {Waiters}
 */
export function createWaiters(registry) {
  /** @type {Set<Waiter>} */
  const waiters = new Set();

  /** @param {Waiter} waiter */
  function answerOne(waiter) {
    const { receipt, resolve, reject } = waiter;
    const outcome = describeOutcome(registry, receipt);
    const isCutShort = outcome.state === 'pending' && registry.ending !== null && receipt.up.length > 0;
    if (outcome.state === 'pending' && !isCutShort) return waiter.onCheck();
    waiters.delete(waiter);
    if (isCutShort) reject(new NclustError('ERR_NCLUST_SHUTTING_DOWN', 'The manager is shutting down.'));
    else if (outcome.state === 'failed')
      reject(
        outcome.failed
          ? reloadError(registry, outcome.failed, receipt.up)
          : notUpError(outcome.notUp, {
              wanted: receipt.up.length,
              method: receipt.method,
              advice: receipt.method === 'start' ? adviseOnListed(registry, outcome.notUp[0]) : '',
            }),
      );
    else resolve();
  }

  return {
    add(receipt, signal, onCheck = () => {}) {
      /** @type {() => void} */
      let onAbort = () => {};
      /** @type {Promise<void>} */
      const outcome = new Promise((resolve, reject) => {
        /** @type {Waiter} */
        const waiter = { receipt, onCheck, resolve, reject };
        waiters.add(waiter);
        onAbort = () => void (waiters.delete(waiter) && resolve());
        signal?.addEventListener('abort', onAbort, { once: true });
      });
      // The signal is of a connection, which may send thousands of requests.
      return outcome.finally(() => signal?.removeEventListener('abort', onAbort));
    },
    answer() {
      for (const waiter of waiters) answerOne(waiter);
    },
  };
}
