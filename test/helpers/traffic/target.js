import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** @import { Socket } from 'node:net' */
/** @import { Outcome } from '../ledger.js' */

/**
 * @typedef {object} Target
 * @property {string} [url]  http: or https:. Fast requests use its path.
 * @property {string} [socketPath]
 */

/**
 * @typedef {object} Address
 * @property {boolean} isTls
 * @property {string} host
 * @property {number} port
 * @property {string} path
 * @property {string | undefined} socketPath
 */

const TLS = fileURLToPath(new URL('../../fixtures/tls/', import.meta.url));

export const tlsEnv = { TLS_CERT: `${TLS}cert.pem`, TLS_KEY: `${TLS}key.pem` };

/** @type {Buffer | undefined} */
let certificate;

/** @returns {Buffer} */
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
 * Returns a socket that is not open yet.
 * @param {Address} address
 * @param {{ ALPNProtocols?: string[] }} [o]
 * @returns {Socket}
 */
export function openSocket({ isTls, host, port, socketPath }, o = {}) {
  const where = socketPath === undefined ? { host, port } : { path: socketPath };
  return isTls ? connectTls({ ...where, ca: trusted(), servername: 'localhost', ...o }) : connect(where);
}

/**
 * @param {NodeJS.ErrnoException} error
 * @returns {Outcome}
 */
export function unanswered(error) {
  // A Unix socket has other codes: ENOENT if its file is gone, EAGAIN if its queue is full.
  const isRefused =
    error.code === 'ECONNREFUSED' ||
    (error.syscall === 'connect' && (error.code === 'ENOENT' || error.code === 'EAGAIN'));
  return { bucket: isRefused ? 'refused' : 'reset', detail: error.code ?? error.message };
}
