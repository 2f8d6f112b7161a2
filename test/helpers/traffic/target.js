import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** @import { Socket } from 'node:net' */
/** @import { Outcome } from '../ledger.js' */

/**
 * Where traffic goes.
 * @typedef {object} Target
 * @property {string} [url]  http: or https:; the path in it is where fast requests go.
 * @property {string} [socketPath]  A Unix socket in place of host and port.
 */

/**
 * A target as the kinds of traffic want it.
 * @typedef {object} Address
 * @property {boolean} isTls
 * @property {string} host
 * @property {number} port
 * @property {string} path  Of fast requests.
 * @property {string | undefined} socketPath
 */

const TLS = fileURLToPath(new URL('../../fixtures/tls/', import.meta.url));

/** The environment in which a fixture finds certificate and key of `localhost`. */
export const tlsEnv = { TLS_CERT: `${TLS}cert.pem`, TLS_KEY: `${TLS}key.pem` };

/** @type {Buffer | undefined} */
let certificate;

/** @returns {Buffer}  What a client of the fixtures trusts. */
export const trusted = () => (certificate ??= readFileSync(tlsEnv.TLS_CERT));

/**
 * @param {Target} target
 * @returns {Address}
 */
export function addressOf({ url = 'http://localhost/', socketPath }) {
  const { protocol, hostname, port, pathname, search } = new URL(url);
  return { isTls: protocol === 'https:', host: hostname, port: Number(port), path: pathname + search, socketPath };
}

/**
 * A connection without HTTP on it yet.
 * @param {Address} address
 * @param {{ ALPNProtocols?: string[] }} [o]
 * @returns {Socket}  'connect' or 'secureConnect' tells when it is there: onceOpen().
 */
export function openSocket({ isTls, host, port, socketPath }, o = {}) {
  const where = socketPath === undefined ? { host, port } : { path: socketPath };
  return isTls ? connectTls({ ...where, ca: trusted(), servername: 'localhost', ...o }) : connect(where);
}

/**
 * @param {NodeJS.ErrnoException} error
 * @returns {Outcome}  Of a request that got no answer.
 */
export function unanswered(error) {
  // A Unix socket whose file is gone, or whose queue is full, refuses in its own words.
  const isRefused =
    error.code === 'ECONNREFUSED' ||
    (error.syscall === 'connect' && (error.code === 'ENOENT' || error.code === 'EAGAIN'));
  return { bucket: isRefused ? 'refused' : 'reset', detail: error.code ?? error.message };
}
