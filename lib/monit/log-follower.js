import { setTimeout as pause } from 'node:timers/promises';
import { streamLogs } from '../client/log-stream.js';
import { NclustError } from '../shared/errors.js';

/** @import { Client } from '../client/client.js' */
/** @import { MonitEvent } from './state.js' */

/** Twenty thousand lines a second are read; of more the manager leaves out some, and counts them. */
const LINES_AT_ONCE = 2_000;
const BREATH_MS = 100;

/** Before a manager that went away is asked again. */
const AGAIN_MS = 1_000;

/**
 * Follows the logs that are wished for, over the death of a manager.
 * @param {NonNullable<import('./wishes.js').Wishes['logs']>} wish
 * @param {object} o
 * @param {() => Promise<Client|null>} o.open
 * @param {(event: MonitEvent) => void} o.dispatch
 * @param {AbortSignal} o.signal
 * @returns {() => void}  Ends it.
 */
export function followLog({ key, request }, { open, dispatch, signal }) {
  const stop = new AbortController();
  const ends = AbortSignal.any([signal, stop.signal]);
  /** @type {Client|null} */
  let client = null;

  async function readOnce() {
    client = await open();
    if (!client || ends.aborted) return;
    dispatch({ type: 'log-began', wish: key });
    let lines = 0;
    let sinceMono = performance.now();
    const talk = (/** @type {string} */ words) => dispatch({ type: 'log-said', wish: key, words });
    const onMissed = (/** @type {number} */ count) => dispatch({ type: 'log-missed', wish: key, count });
    for await (const { entries } of streamLogs(client, request, { talk, signal: ends, onMissed, onGap: () => {} })) {
      dispatch({ type: 'logged', wish: key, entries });
      lines += entries.length;
      if (lines < LINES_AT_ONCE) continue;
      const left = BREATH_MS - (performance.now() - sinceMono);
      if (left > 0) await pause(left, undefined, { signal: ends }).catch(() => {});
      lines = 0;
      sinceMono = performance.now();
    }
  }

  async function run() {
    while (!ends.aborted) {
      try {
        await readOnce();
      } catch (error) {
        if (ends.aborted) return;
        // What is wrong with the manager is said in the first row.
        if (!(error instanceof NclustError)) throw error;
        if (!AWAY.includes(error.code)) dispatch({ type: 'log-said', wish: key, words: error.message });
      } finally {
        await client?.close();
      }
      await pause(AGAIN_MS, undefined, { signal: ends }).catch(() => {});
    }
  }

  void run(); // Ends with the signal; what it throws is a bug, and ends the program.
  return () => {
    stop.abort();
    void client?.close();
  };
}

/** @type {string[]} */
const AWAY = ['ERR_NCLUST_CONNECTION_LOST', 'ERR_NCLUST_DAEMON_UNREACHABLE'];
