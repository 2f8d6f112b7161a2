import { request } from 'node:http';
import { WebSocket } from 'ws';
import { within } from './wait-for.js';

/** @import { IncomingHttpHeaders } from 'node:http' */

/**
 * @typedef {object} Page
 * @property {any} welcome  The answer to the token. Null if the page sent no token.
 * @property {(method: string, params?: object) => Promise<any>} request  Rejects with the `code`
 *   and `data` of an error answer, or with the `closeCode` if the connection closes first.
 * @property {(text: string | Buffer) => void} send
 * @property {() => Promise<any>} nextNotification
 * @property {() => void} stopReading
 * @property {() => void} readOn
 * @property {Promise<number>} closed
 * @property {() => void} close
 */

/** @param {string} url  As `nclust web` prints it. */
export function partsOf(url) {
  const { origin, host, hash } = new URL(url);
  return { origin, host, token: new URLSearchParams(hash.slice(1)).get('token') ?? '' };
}

/**
 * @param {string} url
 * @param {{ origin?: string, headers?: Record<string, string>, token?: string | null, path?: string }} [o]
 *   If `token` is null, the page sends no token.
 * @returns {Promise<Page>}  Rejects with the HTTP `status` if the server refuses the upgrade, and
 *   with the `closeCode` if the server closes the connection because of the token.
 */
export async function openPage(
  url,
  { origin = partsOf(url).origin, headers = {}, token = partsOf(url).token, path = '/socket' } = {},
) {
  const ws = new WebSocket(`ws://${partsOf(url).host}${path}`, {
    headers: { ...(origin === '' ? {} : { origin }), ...headers },
    perMessageDeflate: false,
  });
  /** @type {Map<number, { resolve: (value: any) => void, reject: (error: Error) => void }>} */
  const waiting = new Map();
  /** @type {any[]} */
  const notifications = [];
  /** @type {((notification: any) => void)[]} */
  const readers = [];
  let nextId = 1;

  ws.on('message', (data) => {
    const message = JSON.parse(String(data));
    const asked = waiting.get(message.id);
    if (!asked) return void (readers.shift() ?? ((one) => notifications.push(one)))(message);
    waiting.delete(message.id);
    if (message.error)
      asked.reject(
        Object.assign(new Error(message.error.message), { code: message.error.code, data: message.error.data }),
      );
    else asked.resolve(message.result);
    return undefined;
  });
  /** @type {Promise<number>} */
  const closed = new Promise((resolve) => {
    ws.on('close', (code) => {
      for (const { reject } of waiting.values())
        reject(Object.assign(new Error(`The page was closed: ${code}.`), { closeCode: code }));
      resolve(code);
    });
  });
  await new Promise((resolve, reject) => {
    ws.once('open', () => resolve(undefined));
    ws.once('error', reject);
    ws.once('unexpected-response', (_request, response) => {
      response.resume();
      reject(Object.assign(new Error(`Refused with ${response.statusCode}.`), { status: response.statusCode }));
    });
  });
  ws.on('error', () => {}); // 'close' follows.

  /** @type {Page['request']} */
  function ask(method, params = {}) {
    const id = nextId++;
    const answer = new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
    ws.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    return within(`the answer to "${method}"`, answer, 60_000);
  }

  return {
    welcome: token === null ? null : await ask('authenticate', { token }),
    request: ask,
    send: (text) => ws.send(text),
    nextNotification: () =>
      notifications.length > 0
        ? Promise.resolve(notifications.shift())
        : new Promise((resolve) => readers.push(resolve)),
    stopReading: () => ws.pause(),
    readOn: () => ws.resume(),
    closed,
    close: () => ws.terminate(),
  };
}

/**
 * @param {string} url
 * @param {string} path
 * @param {{ method?: string, headers?: Record<string, string> }} [o]
 * @returns {Promise<{ status: number, headers: IncomingHttpHeaders, text: string }>}
 */
export function fetchRaw(url, path, { method = 'GET', headers = {} } = {}) {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const asked = request(
      { host: hostname.replace(/^\[(.*)\]$/, '$1'), port, path, method, headers, agent: false },
      (response) => {
        let text = '';
        response
          .setEncoding('utf8')
          .on('data', (part) => (text += part))
          .on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      },
    );
    asked.on('error', reject).end();
  });
}
