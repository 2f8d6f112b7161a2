import { createServer } from 'node:net';

// The kernel uses higher ports for outgoing connections, of which a load test has thousands.
const LOWEST = 12_000;
const HIGHEST = 32_000;

/** @type {Set<number>} */
const taken = new Set();

/** @returns {Promise<number>}  Each port only once. */
export async function takePort() {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if (taken.has(port) || !(await isFree(port))) continue;
    taken.add(port);
    return port;
  }
}

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
export function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, () => server.close(() => resolve(true)));
  });
}
