import { isIP } from 'node:net';
import { isLoopback } from '../../../lib/shared/settings/listen-address.js';

/** @import { IncomingHttpHeaders } from 'node:http' */
/** @import { WebAddress } from '../../../lib/shared/settings/listen-address.js' */

const EVERY_ADDRESS = new Set(['0.0.0.0', '::']);

/**
 * Whether a request calls us by a name of ours. A page of somebody else may have a name of its own
 * lead to this address ("DNS rebinding"), and would then be of the same origin. Any port will do: a
 * tunnel may have another one.
 * @param {string | undefined} host  The header.
 * @param {WebAddress} address  Where we listen.
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
 * Browsers say which page opens a WebSocket; only ours may.
 * @param {IncomingHttpHeaders} headers
 */
export function isOurPage({ host, origin }) {
  return origin === `http://${host}`;
}
