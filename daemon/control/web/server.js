import { createServer } from 'node:http';
import { isOurName, isOurPage } from './origin.js';
import { readPageFiles } from './page-files.js';
import { respond } from './respond.js';
import { createPages } from './sockets.js';

/** @import { IncomingMessage } from 'node:http' */
/** @import { Duplex } from 'node:stream' */
/** @import { WebAddress } from '../../../lib/shared/settings/web-target.js' */

const CONNECTIONS_MAX = 256;
const REQUEST_MS = 5_000;
const KEEP_ALIVE_MS = 30_000;

/** Who reads nothing of an answer for so long has no connection any more, in ms. */
const STALLED_MS = 30_000;

/**
 * @typedef {object} Dashboard
 * @property {WebAddress} address  With the port that it has.
 * @property {import('./sockets.js').Pages['changeToken']} changeToken
 * @property {() => void} sendAway
 * @property {() => Promise<void>} close  Idempotent.
 */

/**
 * Serves the page and its WebSocket.
 * @param {WebAddress} wanted
 * @param {Parameters<typeof createPages>[0] & {folder?: string, stalledMs?: number}} o
 * @returns {Promise<Dashboard>}  Rejects with what the system says.
 */
export async function serveDashboard(wanted, { folder, stalledMs = STALLED_MS, ...o }) {
  const files = readPageFiles(folder);
  const pages = createPages(o);
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, connectionsCheckingInterval: REQUEST_MS, maxHeaderSize: 8_192 }, (request, response) => respond(request, response, { files, address }));
  server.maxConnections = CONNECTIONS_MAX;
  server.timeout = stalledMs;
  server.on('upgrade', (request, socket, head) => upgrade(request, socket, head, { pages, address }));
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: wanted.host, port: wanted.port, exclusive: true }, () => resolve(undefined));
  });
  server.on('error', () => {}); // Of a single connection that could not be accepted.
  const address = { host: wanted.host, port: /** @type {import('node:net').AddressInfo} */ (server.address()).port };
  /** @type {Promise<void>|null} */
  let closed = null;
  return {
    address,
    changeToken: pages.changeToken,
    sendAway: pages.sendAway,
    close() {
      closed ??= new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        pages.close();
      });
      return closed;
    },
  };
}

/**
 * @param {IncomingMessage} request
 * @param {Duplex} socket
 * @param {Buffer} head
 * @param {{pages: import('./sockets.js').Pages, address: WebAddress}} o
 */
function upgrade(request, socket, head, { pages, address }) {
  socket.on('error', () => socket.destroy());
  if (!isOurName(request.headers.host, address)) return refuse(socket, '421 Misdirected Request');
  if (request.url !== '/socket') return refuse(socket, '404 Not Found');
  if (!isOurPage(request.headers)) return refuse(socket, '403 Forbidden');
  if (pages.isFull()) return refuse(socket, '503 Service Unavailable');
  // A laptop that was closed says nothing any more.
  /** @type {import('node:net').Socket} */ (socket).setKeepAlive(true, KEEP_ALIVE_MS);
  return pages.take(request, socket, head);
}

/** @param {Duplex} socket @param {string} status */
function refuse(socket, status) {
  // Who never closes its side would keep the connection, and one of the few there are.
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  socket.resume();
}
