import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { formatAddress } from '../../../lib/shared/address.js';
import { NclustError } from '../../../lib/shared/errors.js';
import {
  isLoopback,
  parseWebListen,
  WEB_HOST,
  WEB_LISTEN_FORMS,
  WEB_PORT,
  explainUnserved,
} from '../../../lib/shared/settings/listen-address.js';

/** @import { IncomingHttpHeaders } from 'node:http' */
/** @import { WebAddress } from '../../../lib/shared/settings/listen-address.js' */

/** @param {string} text */
export function readListen(text) {
  const address = parseWebListen(text);
  if (address) return address;
  throw new NclustError(
    'ERR_NCLUST_BAD_SETTING',
    `The dashboard cannot listen on "${text}"; accepted: ${WEB_LISTEN_FORMS}.`,
    {
      hint: `Without --listen it is ${WEB_HOST}:${WEB_PORT}, or the next free port.`,
      data: { key: 'web.listen' },
    },
  );
}

/**
 * @param {WebAddress} address
 * @param {WebAddress} wanted
 */
export function isServedAt(address, wanted) {
  return address.host === wanted.host && (wanted.port === 0 || address.port === wanted.port);
}

/** @param {string} host */
export function reachableHost(host) {
  if (host !== '0.0.0.0' && host !== '::') return host;
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? WEB_HOST;
}

/** @param {WebAddress} address */
export function remoteAddressError(address) {
  return new NclustError(
    'ERR_NCLUST_BAD_SETTING',
    `The dashboard does not listen on "${formatAddress(address)}": other machines could reach that address, and ` +
      `its traffic is not encrypted.`,
    {
      hint: 'Keep it on 127.0.0.1 and use a tunnel (ssh -L 9616:127.0.0.1:9616 host), or allow it with --allow-remote',
      data: { key: 'web.listen' },
    },
  );
}

/**
 * @param {WebAddress} address
 * @param {unknown} error
 */
export function webError(address, error) {
  const reason = describeListenError(error);
  return new NclustError(
    'ERR_NCLUST_WEB_FAILED',
    `The dashboard cannot be served on "${formatAddress(address)}": ${explainUnserved(reason)}.`,
    {
      hint: 'Choose another address: nclust web --listen 127.0.0.1:0 uses any free port.',
      data: { ...address, reason },
      cause: error,
    },
  );
}

/** @param {unknown} error */
export function describeListenError(error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
  return code ?? message;
}

const EVERY_ADDRESS = new Set(['0.0.0.0', '::']);

/**
 * Refuses foreign names, because a foreign page could point its name at this address ("DNS
 * rebinding"). For the browser, the foreign page and the dashboard would then have the same origin.
 * Any port is accepted, because a tunnel may use another port.
 * @param {string | undefined} host
 * @param {WebAddress} address
 * @returns {host is string}
 */
export function isOurName(host, address) {
  const [, inBrackets, plain] = /^(?:\[([\da-f:.]+)\]|([^:[\]]+))(?::\d{1,5})?$/i.exec(host ?? '') ?? [];
  const name = (inBrackets ?? plain ?? '').toLowerCase();
  if (name === '' || (inBrackets !== undefined && isIP(inBrackets) !== 6)) return false;
  if (name === address.host) return true;
  if (EVERY_ADDRESS.has(address.host)) return name === 'localhost' || isIP(name) > 0;
  return isLoopback(address) && (name === 'localhost' || name === '127.0.0.1' || name === '::1');
}

/**
 * Browsers send the origin of the page that opens a WebSocket. Only our page may open a WebSocket.
 * @param {IncomingHttpHeaders} headers
 */
export function isOurPage({ host, origin }) {
  return origin === `http://${host}`;
}
