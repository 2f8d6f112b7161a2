// Two connected sockets inside of the keeper, because Node.js cannot call socketpair(2).
import { once } from 'node:events';
import { createServer, Socket } from 'node:net';

/** @import { AddressInfo, Server } from 'node:net' */

/** PipeConstants.IPC of Node.js: a socket that carries handles. */
const IPC = 2;

/**
 * @typedef {object} Pair
 * @property {Socket} own  The end of the keeper. Reads nothing yet.
 * @property {Socket} given  The end for a program.
 */

/**
 * Over this pair, the keeper can send handles, and the program can send nothing: its end is shut
 * down for writing, and no system call undoes that.
 * @param {string} path  In a folder that only the user of the keeper can enter.
 * @returns {Promise<Pair>}
 */
export async function makeOneWayPair(path) {
  const pair = await connectPair({ path }, (server) => {
    const { constructor: Pipe } = /** @type {any} */ (server)._handle;
    return new Pipe(IPC);
  });
  await new Promise((resolve) => pair.given.end(() => resolve(undefined)));
  return pair;
}

/** @returns {Promise<Pair>} */
export async function makeTcpPair() {
  const pair = await connectPair({ host: '127.0.0.1', port: 0 }, () => undefined);
  pair.own.setNoDelay();
  pair.given.setNoDelay();
  return pair;
}

/**
 * @param {{ path: string } | { host: string, port: number }} where
 * @param {(server: Server) => object | undefined} createHandle  For `own`. undefined: a plain one.
 * @returns {Promise<Pair>}
 */
async function connectPair(where, createHandle) {
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true });
  try {
    await once(server.listen(where), 'listening');
    const options = { handle: createHandle(server), manualStart: true, allowHalfOpen: true };
    const own = new Socket(/** @type {any} */ (options));
    own.pause(); // Otherwise the socket would read when it connects.
    const address = /** @type {AddressInfo | string} */ (server.address());
    own.connect(typeof address === 'string' ? { path: address } : { host: address.address, port: address.port });
    const given = acceptOwn(server, own);
    await once(own, 'connect');
    return { own, given: await given };
  } finally {
    server.close();
  }
}

/**
 * Accepts no other connection, because any process may connect to the TCP port.
 * @param {Server} server
 * @param {Socket} own
 * @returns {Promise<Socket>}
 */
function acceptOwn(server, own) {
  return new Promise((resolve) => {
    server.on('connection', (accepted) => {
      const isOwn = accepted.remotePort === own.localPort && accepted.remoteAddress === own.localAddress;
      if (isOwn) resolve(accepted);
      else accepted.destroy();
    });
  });
}
