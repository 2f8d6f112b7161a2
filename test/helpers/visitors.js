import { setMaxListeners } from 'node:events';
import { Agent, get } from 'node:http';
import { pause } from './wait-for.js';

const LOOK_MS = 200;

/**
 * @typedef {object} Visitors
 * @property {() => number} answers
 * @property {() => Promise<void>} stop  Aborts open requests. Idempotent.
 */

/**
 * Clients that read answers to their end, and do not mind failures: for tests that look at the app,
 * and not at its answers.
 * @param {string} url
 * @param {object} o
 * @param {number} o.clients
 * @param {number} o.pauseMs  Each client waits after an answer or a failure.
 * @param {() => boolean} [o.isOpen]  False: the clients wait.
 * @returns {Visitors}
 */
export function startVisitors(url, { clients, pauseMs, isOpen = () => true }) {
  const stopper = new AbortController();
  const { signal } = stopper;
  setMaxListeners(0, signal);
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
  let answers = 0;

  /** @returns {Promise<void>} */
  function visit() {
    return new Promise((resolve) => {
      get(url, { agent, signal }, (response) => {
        answers += 1;
        response.on('error', () => {}); // 'close' follows.
        response.on('close', resolve);
        response.resume();
      }).on('error', () => resolve());
    });
  }

  async function drive() {
    while (!signal.aborted) {
      if (isOpen()) await visit();
      await pause(isOpen() ? pauseMs : LOOK_MS);
    }
  }

  const drives = Array.from({ length: clients }, drive);
  return {
    answers: () => answers,
    async stop() {
      stopper.abort();
      agent.destroy();
      await Promise.all(drives);
    },
  };
}
