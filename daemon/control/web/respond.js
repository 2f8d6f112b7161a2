import { isOurName } from './origin.js';

/** @import { IncomingMessage, ServerResponse } from 'node:http' */
/** @import { WebAddress } from '../../../lib/shared/settings/web-target.js' */
/** @import { PageFile } from './page-files.js' */

/**
 * Answers with a file of the table, and with nothing else.
 * @param {IncomingMessage} request
 * @param {ServerResponse} response
 * @param {{files: Map<string, PageFile>, address: WebAddress}} o
 */
export function respond(request, response, { files, address }) {
  const { host } = request.headers;
  if (!isOurName(host, address)) return refuse(response, 421, 'Ask by the address itself, or by the name "localhost".\n');
  if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(response, 405, 'Only GET.\n', { allow: 'GET, HEAD' });
  const file = files.get((request.url ?? '').split('?')[0]);
  if (!file) return refuse(response, 404, 'There is no such file.\n');
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
function refuse(response, status, text, more = {}) {
  response.writeHead(status, { ...protection(null), 'content-type': 'text/plain; charset=utf-8', 'content-length': Buffer.byteLength(text), 'cache-control': 'no-store', ...more });
  response.end(text);
}

/**
 * The page loads what is its own, speaks to whom it came from, and is in nobody's frame.
 * @param {string|null} host  Of browsers for which 'self' is no WebSocket. Checked before: it is written into a header.
 */
function protection(host) {
  const connect = host === null ? "'none'" : `'self' ws://${host}`;
  return {
    'content-security-policy': `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src ${connect}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  };
}
