import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { request as requestHttps } from 'node:https';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { realKeeper, temporaryHome } from '../helpers/keeper.js';
import { takePort } from '../helpers/ports.js';

// What is in flight is finished, whatever the protocol.

/** @returns {{ key: string, cert: string }}  Paths. */
function certificate() {
  const folder = temporaryHome();
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1', '-subj', '/CN=localhost', '-keyout', key, '-out', cert], { stdio: 'ignore' });
  return { key, cert };
}

const SLOW = '(request, response) => { say("has", request.url); setTimeout(() => response.end("whole"), 500); }';

/** @param {number} port */
const overHttps = (port) => new Promise((resolve, reject) => {
  requestHttps({ port, path: '/slow', rejectUnauthorized: false, agent: false }, (response) => collect(response, resolve, reject)).on('error', reject).end();
});

/** @param {string} scheme  @returns {(port: number) => Promise<unknown>} */
const overHttp2 = (scheme) => (port) => new Promise((resolve, reject) => {
  const session = connectHttp2(`${scheme}://localhost:${port}`, { rejectUnauthorized: false }).on('error', reject);
  const stream = session.request({ ':path': '/slow' });
  collect(stream, (body) => { session.close(); resolve(body); }, reject);
});

/** @param {import('node:stream').Readable} stream  @param {(body: string) => void} resolve  @param {(error: Error) => void} reject */
function collect(stream, resolve, reject) {
  let body = '';
  stream.setEncoding('utf8').on('data', (text) => { body += text; }).on('end', () => resolve(body)).on('error', reject);
}

test.each([
  ['https', 'require("node:https").createServer(tls, slow)', overHttps],
  ['HTTP/2', 'require("node:http2").createSecureServer(tls, slow)', overHttp2('https')],
  ['HTTP/2 without TLS', 'require("node:http2").createServer(slow)', overHttp2('http')],
])('a request over %s in flight is finished', async (_protocol, server, ask) => {
  const keeper = await realKeeper();
  const port = await takePort();
  const { key, cert } = certificate();
  const tls = `{ key: ${JSON.stringify(readFileSync(key, 'utf8'))}, cert: ${JSON.stringify(readFileSync(cert, 'utf8'))} }`;
  await keeper.spawnNode('one', 'runs-code', { env: { CODE: `const tls = ${tls}; const slow = ${SLOW}; ${server}.listen(${port}, () => say('listens'));` } });
  await keeper.says('one', 'listens');
  const answer = ask(port);
  await keeper.says('one', 'has /slow');
  await keeper.retire('one');
  expect(await answer).toBe('whole');
  await keeper.event('gone', 'one');
});
