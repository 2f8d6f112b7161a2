import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { onTestFinished } from 'vitest';
import { serveScript, serveVariables } from '../../lib/serve/options.js';
import { takePort } from './ports.js';
import { waitFor, within } from './wait-for.js';

/** @import { ChildProcess } from 'node:child_process' */
/** @import { ServeSettings } from '../../lib/serve/options.js' */

/**
 * @typedef {object} StaticServer
 * @property {number} port
 * @property {ChildProcess} child
 * @property {() => string} stderr
 * @property {(target: string, o?: AskOptions) => Promise<Answer>} ask
 */

/** @typedef {{ method?: string, headers?: Record<string, string> }} AskOptions */

/**
 * All texts are in latin1, so that each character is one byte.
 * @typedef {{ status: number, headers: Record<string, string>, body: string, raw: string }} Answer
 */

/**
 * Runs a static server without a manager until the test ends.
 * @param {string} path
 * @param {Partial<ServeSettings>} [settings]
 * @returns {Promise<StaticServer>}
 */
export async function startStaticServer(path, settings = {}) {
  const port = await takePort();
  const all = {
    path,
    port,
    host: '127.0.0.1',
    isSpa: false,
    hasListing: false,
    homepage: 'index.html',
    credentials: null,
    cache: '',
    cors: '',
    ...settings,
  };
  const child = spawn(process.execPath, [serveScript()], {
    env: { PATH: process.env.PATH, ...serveVariables(all) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const ended = new Promise((resolve) => {
    child.once('close', resolve);
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const status = await Promise.race([
    waitFor('the server to listen', () => out.includes('Serving '), { context: () => err }),
    ended,
  ]);
  if (status !== true) throw new Error(`The server exited with ${status}.\n${err}`);
  return { port, child, stderr: () => err, ask: (target, o) => askRaw(port, target, o) };
}

/**
 * @param {number} port
 * @param {string} target
 * @param {{ method?: string, headers?: Record<string, string> }} [o]
 * @returns {Promise<Answer>}  Rejects if the server does not close the connection in 10 s.
 */
export async function askRaw(port, target, { method = 'GET', headers = {} } = {}) {
  const lines = [
    `${method} ${target} HTTP/1.1`,
    'Host: localhost',
    'Connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  return parse(await exchangeRaw(port, `${lines.join('\r\n')}\r\n\r\n`));
}

/**
 * @param {number} port
 * @param {string} bytes  latin1.
 * @returns {Promise<string>}  Everything that the server sends until the connection is closed or
 *   reset. Rejects after 10 s.
 */
export function exchangeRaw(port, bytes) {
  const socket = connect(port, '127.0.0.1');
  socket.setEncoding('latin1');
  let got = '';
  const closed = new Promise((resolve) => {
    socket.on('data', (chunk) => {
      got += chunk;
    });
    socket.on('error', () => {});
    socket.once('close', () => resolve(got));
  });
  socket.write(bytes, 'latin1');
  return within(
    `An answer to ${JSON.stringify(bytes.slice(0, 200))}`,
    /** @type {Promise<string>} */ (closed),
    10_000,
  ).finally(() => socket.destroy());
}

/**
 * @param {string} raw
 * @returns {Answer}
 */
function parse(raw) {
  const end = raw.indexOf('\r\n\r\n');
  const [first, ...lines] = raw.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const rest = raw.slice(end + 4);
  return {
    status: Number(first.split(' ')[1]),
    headers,
    body: headers['transfer-encoding'] === 'chunked' ? unchunk(rest) : rest,
    raw,
  };
}

/** @param {string} text */
function unchunk(text) {
  let body = '';
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\r\n', at);
    const length = Number.parseInt(text.slice(at, end), 16);
    if (!length) break;
    body += text.slice(end + 2, end + 2 + length);
    at = end + 4 + length;
  }
  return body;
}
