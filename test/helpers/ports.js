import { createServer } from 'node:net';

// These ports are below the ports that the kernel uses for outgoing connections, because a load
// test opens thousands of such connections.
const LOWEST = 12_000;
const HIGHEST = 32_000;

/** @type {Set<number>} */
const taken = new Set();

/** @returns {Promise<number>}  Never the same port twice. */
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
