import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { closeServer, createGuardedServer, listenExclusively } from '../../../lib/shared/guarded-server.js';
import { isOurName, isOurPage } from './address.js';
import { createPages } from './sockets.js';

/** @import { IncomingMessage, ServerResponse } from 'node:http' */
/** @import { AddressInfo, Socket } from 'node:net' */
/** @import { Duplex } from 'node:stream' */
/** @import { WebAddress } from '../../../lib/shared/settings/listen-address.js' */
/** @import { Pages } from './sockets.js' */

/**
 * Limit for open connections without the token, because each connection can keep control busy for
 * 0.1 s.
 */
const CONNECTIONS_MAX = 128;
const KEEP_ALIVE_MS = 30_000;

/**
 * @typedef {object} Dashboard
 * @property {WebAddress} address  With the actual port.
 * @property {Pages['changeToken']} changeToken
 * @property {() => void} sendAway
 * @property {() => Promise<void>} close  Idempotent.
 */

/**
 * @typedef {object} DashboardOptions
 * @property {(error: Error) => void} onFault  Called if control could not answer a request.
 * @property {string} [folder]
 * @property {number} [stalledMs]
 */

/**
 * @param {WebAddress} wanted
 * @param {Omit<Parameters<typeof createPages>[0], 'onRight'> & DashboardOptions} o
 * @returns {Promise<Dashboard>}  Rejects with errors of the system.
 */
export async function serveDashboard(wanted, { folder, onFault, stalledMs, ...o }) {
  const files = readPageFiles(folder);
  const { server, exempt } = createGuardedServer({
    answer: (request, response) => respond(request, response, { files, address }),
    onFault,
    refuse: (response) => respondRefuse(response, 500, 'The request failed; see the log of the manager.\n'),
    connectionsMax: CONNECTIONS_MAX,
    stalledMs,
  });
  const pages = createPages({ ...o, onRight: exempt });
  server.on('upgrade', (request, socket, head) => {
    try {
      upgrade(request, socket, head, { pages, address });
    } catch (error) {
      onFault(/** @type {Error} */ (error));
      socket.destroy();
    }
  });
  await listenExclusively(server, wanted);
  const address = { host: wanted.host, port: /** @type {AddressInfo} */ (server.address()).port };
  /** @type {Promise<void> | null} */
  let closed = null;
  return {
    address,
    changeToken: pages.changeToken,
    sendAway: pages.sendAway,
    close() {
      closed ??= closeServer(server);
      pages.close();
      return closed;
    },
  };
}

/**
 * @param {IncomingMessage} request
 * @param {Duplex} socket
 * @param {Buffer} head
 * @param {{ pages: Pages, address: WebAddress }} o
 */
function upgrade(request, socket, head, { pages, address }) {
  socket.on('error', () => socket.destroy());
  if (!isOurName(request.headers.host, address)) return refuse(socket, '421 Misdirected Request');
  if (request.url !== '/socket') return refuse(socket, '404 Not Found');
  if (!isOurPage(request.headers)) return refuse(socket, '403 Forbidden');
  if (pages.isFull()) return refuse(socket, '503 Service Unavailable');
  // Finds clients that vanished, such as a closed laptop.
  /** @type {Socket} */ (socket).setKeepAlive(true, KEEP_ALIVE_MS);
  return pages.take(request, socket, head);
}

/**
 * @param {Duplex} socket
 * @param {string} status
 */
function refuse(socket, status) {
  // Do not wait for the client to close its side, because the number of connections is limited.
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  socket.resume();
}

/**
 * @param {IncomingMessage} request
 * @param {ServerResponse} response
 * @param {{ files: Map<string, PageFile>, address: WebAddress }} o
 */
function respond(request, response, { files, address }) {
  const { host } = request.headers;
  if (!isOurName(host, address)) return respondRefuse(response, 421, 'Use the address, or the name "localhost".\n');
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return respondRefuse(response, 405, 'Only GET is allowed.\n', { allow: 'GET, HEAD' });
  const file = files.get((request.url ?? '').split('?')[0]);
  if (!file) return respondRefuse(response, 404, 'There is no such file.\n');
  const headers = { ...protection(host), 'cache-control': 'no-cache', etag: file.etag };
  if (request.headers['if-none-match'] === file.etag) return void response.writeHead(304, headers).end();
  response.writeHead(200, { ...headers, 'content-type': file.type, 'content-length': file.bytes.length });
  return void response.end(request.method === 'HEAD' ? undefined : file.bytes);
}

/**
 * @param {ServerResponse} response
 * @param {number} status
 * @param {string} text
 * @param {Record<string, string>} [more]
 */
function respondRefuse(response, status, text, more = {}) {
  response.writeHead(status, {
    ...protection(null),
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...more,
  });
  response.end(text);
}

/**
 * The page may load only its own files, connect only to its origin, and not be framed.
 * @param {string | null} host  Named in the header, because in some browsers 'self' does not
 *   include a WebSocket. The caller has checked that the host is safe in a header. Null: allow no
 *   connection.
 */
function protection(host) {
  const connect = host === null ? "'none'" : `'self' ws://${host}`;
  return {
    'content-security-policy':
      `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; ` +
      `connect-src ${connect}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  };
}

/** @typedef {{ type: string, bytes: Buffer, etag: string }} PageFile */

const PAGE_FOLDER = fileURLToPath(new URL('./page', import.meta.url));

/** @type {Record<string, string>} */
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

/**
 * Modules for both the dashboard page and the command line. The modules must not import anything of
 * Node.js. The page imports a module by its relative path on disk, because browsers ignore a ".."
 * above "/".
 */
const SHARED = [
  'lib/figures/facts.js',
  'lib/figures/format.js',
  'lib/figures/rows.js',
  'lib/figures/trends.js',
  'lib/render/death.js',
  'lib/render/event-text.js',
  'lib/render/log-text.js',
  'lib/render/troubles.js',
  'lib/render/why/answer.js',
  'lib/render/why/fold.js',
  'lib/shared/address.js',
  'lib/shared/death-text.js',
  'lib/shared/escape-reg-exp.js',
  'lib/shared/metrics.js',
  'lib/shared/shell-quote.js',
  'lib/shared/troubles.js',
  'lib/shared/units.js',
];

const ROOT = new URL('../../../', import.meta.url);

/** @type {Record<string, string>} */
const OF_PACKAGES = { '/uplot.js': 'uplot/dist/uPlot.esm.js', '/uplot.css': 'uplot/dist/uPlot.min.css' };

/**
 * Returns the files by the path of the request. Control reads them only once, so that an update
 * cannot mix two versions of the page.
 * @param {string} [folder]
 * @returns {Map<string, PageFile>}  Throws errors of the file system.
 */
export function readPageFiles(folder = PAGE_FOLDER) {
  const { resolve } = createRequire(import.meta.url);
  const own = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && Object.hasOwn(TYPES, extname(entry.name)))
    .map(({ name }) => [name === 'index.html' ? '/' : `/${name}`, join(folder, name)]);
  const borrowed = Object.entries(OF_PACKAGES).map(([path, name]) => [path, resolve(name)]);
  const shared = SHARED.map((path) => [`/${path}`, fileURLToPath(new URL(path, ROOT))]);
  return new Map([...own, ...borrowed, ...shared].map(([path, file]) => [path, readPageFile(file)]));
}

/**
 * @param {string} file
 * @returns {PageFile}
 */
function readPageFile(file) {
  const bytes = readFileSync(file);
  return {
    type: TYPES[extname(file)],
    bytes,
    etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 27)}"`,
  };
}
