import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { request as requestHttps } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { expect, test } from 'vitest';
import { realKeeper, temporaryHome } from '../helpers/keeper.js';
import { takePort } from '../helpers/ports.js';
import { waitFor } from '../helpers/wait-for.js';
/** @import { Socket } from 'node:net' */

/** @returns {string} */
function tlsOptions() {
  const folder = temporaryHome();
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '1',
      '-subj',
      '/CN=localhost',
      '-keyout',
      key,
      '-out',
      cert,
    ],
    { stdio: 'ignore' },
  );
  return `{ key: ${JSON.stringify(readFileSync(key, 'utf8'))}, cert: ${JSON.stringify(readFileSync(cert, 'utf8'))} }`;
}

const SLOW = '(request, response) => { say("has", request.url); setTimeout(() => response.end("whole"), 500); }';

const overHttps = (port) =>
  new Promise((resolve, reject) => {
    requestHttps({ port, path: '/slow', rejectUnauthorized: false, agent: false }, (response) =>
      collect(response, resolve, reject),
    )
      .on('error', reject)
      .end();
  });

const overHttp2 = (scheme) => (port) =>
  new Promise((resolve, reject) => {
    const session = connectHttp2(`${scheme}://localhost:${port}`, { rejectUnauthorized: false }).on('error', reject);
    const stream = session.request({ ':path': '/slow' });
    collect(
      stream,
      (body) => {
        session.close();
        resolve(body);
      },
      reject,
    );
  });

function collect(stream, resolve, reject) {
  let body = '';
  stream
    .setEncoding('utf8')
    .on('data', (text) => {
      body += text;
    })
    .on('end', () => resolve(body))
    .on('error', reject);
}

test.each([
  ['https', 'require("node:https").createServer(tls, slow)', overHttps],
  ['HTTP/2', 'require("node:http2").createSecureServer(tls, slow)', overHttp2('https')],
  ['HTTP/2 without TLS', 'require("node:http2").createServer(slow)', overHttp2('http')],
])('a drain finishes a request over %s', async (_protocol, server, ask) => {
  const keeper = await realKeeper();
  const port = await takePort();
  const tls = tlsOptions();
  await keeper.spawnNode('one', 'runs-code', {
    env: { CODE: `const tls = ${tls}; const slow = ${SLOW}; ${server}.listen(${port}, () => say('listens'));` },
  });
  await keeper.says('one', 'listens');
  const answer = ask(port);
  await keeper.says('one', 'has /slow');
  await keeper.retire('one');
  expect(await answer).toBe('whole');
  await keeper.event('gone', 'one');
});

/**
 * @returns {Promise<{ received: () => Buffer, ended: Promise<string>, socket: Socket }>}  `ended`:
 *   how the connection ended.
 */
const webSocket = (port) =>
  new Promise((resolve, reject) => {
    const request = get({
      port,
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      },
    });
    request.on('error', reject).on('upgrade', (_, socket, head) => {
      let all = head;
      socket.on('data', (chunk) => {
        all = Buffer.concat([all, chunk]);
      });
      const ended = new Promise((done) => {
        socket.once('end', () => done('end')).once('error', (error) => done(error.code));
      });
      resolve({ received: () => all, ended, socket });
    });
  });

const ACCEPTS = `
  const server = http.createServer(answer);
  server.on('upgrade', (request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n\\r\\n');
    socket.on('data', () => {});
    sockets.push(socket);
    say('upgraded');
  });`;

const SAYS_BYE = `
  process.on('SIGTERM', () => {
    for (const socket of sockets) socket.end('bye');
    server.close(() => process.exit(0));
  });`;

test('a WebSocket client gets a clean close with 1001 if the app does not close it', async () => {
  const keeper = await realKeeper();
  const port = await takePort();
  await keeper.spawnNode('one', 'runs-code', {
    env: { CODE: `const sockets = []; ${ACCEPTS} server.listen(${port}, () => say('listens'));` },
  });
  await keeper.says('one', 'listens');
  const client = await webSocket(port);
  await keeper.retire('one', { drain: 'handover' });
  expect(await client.ended).toBe('end');
  expect([...client.received()]).toEqual([0x88, 0x02, 0x03, 0xe9]);
  await keeper.event('gone', 'one');
});

test('an app with a signal handler closes its WebSockets itself', async () => {
  const keeper = await realKeeper();
  const port = await takePort();
  await keeper.spawnNode('one', 'runs-code', {
    env: {
      CODE: `
    const sockets = []; ${ACCEPTS} server.listen(${port}, () => say('listens'));
    ${SAYS_BYE}`,
    },
  });
  await keeper.says('one', 'listens');
  const client = await webSocket(port);
  await keeper.says('one', 'upgraded');
  await keeper.retire('one', { drain: 'handover' });
  expect(await client.ended).toBe('end');
  expect(client.received().toString()).toBe('bye');
  expect((await keeper.event('exited', 'one')).data).toMatchObject({ code: 0, signal: null });
});

test('a server without an upgrade handler answers an upgrade request with 200', async () => {
  const keeper = await realKeeper();
  const port = await takePort();
  await keeper.spawnNode('one', 'runs-code', {
    env: { CODE: `http.createServer(answer).listen(${port}, () => say('listens'));` },
  });
  await keeper.says('one', 'listens');
  const status = await new Promise((resolve, reject) => {
    get({ port, agent: false, headers: { connection: 'Upgrade', upgrade: 'websocket' } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject);
  });
  expect(status).toBe(200);
});

test.each(['cluster', 'fork'])('%s: the app gets the message "shutdown" instead of the signal', async (mode) => {
  const keeper = await realKeeper();
  await keeper.spawnNode('one', 'runs-code', {
    mode,
    env: {
      CODE: `
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => { say(signal); process.exit(1); });
    process.on('message', (message) => { say('message', message); if (message === 'shutdown') process.exit(7); });
    say('waits');`,
    },
  });
  await keeper.says('one', 'waits');
  await keeper.retire('one', { message: true });
  expect((await keeper.event('exited', 'one')).data).toMatchObject({ code: 7 });
  // Waits, because the output comes through a pipe, and its last part may arrive after the exit.
  await keeper.says('one', 'message shutdown');
  expect(keeper.output('one')).not.toContain('SIG');
});

test('an app that ignores the message "shutdown" is killed at the deadline', async () => {
  const keeper = await realKeeper();
  await keeper.spawnNode('one', 'keeps-alive');
  await keeper.says('one', 'keeps-alive');
  await keeper.retire('one', { message: true, killTimeoutMs: 200 });
  expect((await keeper.event('exited', 'one')).data).toMatchObject({ signal: 'SIGKILL' });
});

test('a client whose TLS handshake comes after the start of the drain is served', async () => {
  const keeper = await realKeeper();
  const port = await takePort();
  const tls = tlsOptions();
  await keeper.spawnNode('one', 'runs-code', {
    env: {
      CODE: `
    const server = require('node:https').createServer(${tls}, answer);
    server.on('connection', () => say('connected')).listen(${port}, () => say('listens'));`,
    },
  });
  await keeper.says('one', 'listens');
  const socket = connect(port);
  await keeper.says('one', 'connected');
  await keeper.retire('one', { drain: 'handover' });
  // The answer shows that the worker has started to drain.
  await keeper.call('ping', { instanceId: 'one', timeoutMs: 5_000 });
  const answer = new Promise((resolve, reject) => {
    requestHttps({ createConnection: () => connectTls({ socket, rejectUnauthorized: false }) }, (response) =>
      collect(response, resolve, reject),
    )
      .on('error', reject)
      .end();
  });
  expect(JSON.parse(await answer)).toMatchObject({ pid: expect.any(Number) });
});

test('an HTTP/2 session that shakes hands during the drain finishes its requests and gets a GOAWAY', async () => {
  const keeper = await realKeeper();
  const port = await takePort();
  const tls = tlsOptions();
  await keeper.spawnNode('one', 'runs-code', {
    env: {
      CODE: `
    const server = require('node:http2').createSecureServer(${tls}, ${SLOW});
    server.on('connection', () => say('connected')).listen(${port}, () => say('listens'));`,
    },
  });
  await keeper.says('one', 'listens');
  const socket = connect(port);
  await keeper.says('one', 'connected');
  await keeper.retire('one', { drain: 'handover', killTimeoutMs: 60_000 });
  // The answer shows that the worker has started to drain.
  await keeper.call('ping', { instanceId: 'one', timeoutMs: 5_000 });
  const session = connectHttp2('https://localhost', {
    createConnection: () => connectTls({ socket, ALPNProtocols: ['h2'], rejectUnauthorized: false }),
  });
  const goneAway = once(session, 'goaway');
  const answer = new Promise((resolve, reject) => collect(session.request({ ':path': '/slow' }), resolve, reject));
  await goneAway;
  expect(await answer).toBe('whole');
  await keeper.event('gone', 'one');
});

/**
 * A plain TCP client. Resolves after the greeting, because the app has the connection by then.
 * @returns {Promise<{ received: () => string, ended: Promise<string> }>}  `ended`: how the
 *   connection ended.
 */
const greeted = (port) =>
  new Promise((resolve, reject) => {
    const socket = connect(port).on('error', reject).setEncoding('utf8');
    let all = '';
    const ended = new Promise((done) => {
      socket.once('end', () => done('end')).once('error', (error) => done(error.code));
    });
    socket.on('data', (text) => {
      all += text;
      resolve({ received: () => all, ended });
    });
  });

/**
 * Kill timeout, in ms. If a drain waited for the connection, it would take three quarters of this
 * time, and the test would time out.
 */
const PATIENCE_MS = 600_000;

const GREETS = `
  const sockets = [];
  const server = require('node:net').createServer((socket) => {
    sockets.push(socket);
    socket.on('close', () => say('connection closed')).resume().write('hello ');
  });`;

test.each(['handover', 'finish'])(
  '%s: a plain TCP client gets what the app sends on its signal, and then a clean end',
  async (drain) => {
    const keeper = await realKeeper();
    const port = await takePort();
    await keeper.spawnNode('one', 'runs-code', {
      env: {
        CODE: `${GREETS} server.listen(${port}, () => say('listens'));
    ${SAYS_BYE}`,
      },
    });
    await keeper.says('one', 'listens');
    const client = await greeted(port);
    await keeper.retire('one', { drain, killTimeoutMs: PATIENCE_MS });
    expect((await keeper.event('exited', 'one')).data).toMatchObject({ code: 0, signal: null });
    expect(await client.ended).toBe('end');
    expect(client.received()).toBe('hello bye');
  },
);

test('finish: an open plain TCP connection does not delay the signal, and stays open until the signal', async () => {
  const keeper = await realKeeper();
  const port = await takePort();
  await keeper.spawnNode('one', 'runs-code', {
    env: { CODE: `${GREETS} server.listen(${port}, () => say('listens'));` },
  });
  await keeper.says('one', 'listens');
  const client = await greeted(port);
  await keeper.retire('one', { drain: 'finish', killTimeoutMs: PATIENCE_MS });
  expect((await keeper.event('exited', 'one')).data).toMatchObject({ code: null, signal: 'SIGINT' });
  expect(await client.ended).toBe('end');
  expect(client.received()).toBe('hello ');
  await keeper.event('gone', 'one');
  expect(keeper.output('one')).not.toContain('connection closed');
});

test('handover: a line sent while its connection ends still reaches the app', async () => {
  const keeper = await realKeeper();
  const port = await takePort();
  await keeper.spawnNode('one', 'runs-code', {
    env: {
      CODE: `
    const reply = (socket, text) => { if (text.includes('late')) say('has', text.trim()); socket.write('yes\\n'); };
    require('node:net')
      .createServer((socket) => socket.setEncoding('utf8').on('data', (text) => reply(socket, text)))
      .listen(${port}, () => say('listens'));`,
    },
  });
  await keeper.says('one', 'listens');
  const socket = connect({ port, allowHalfOpen: true });
  let isEnded = false;
  socket.on('end', () => (isEnded = true)).write('early\n');
  await once(socket, 'data');
  socket.resume();
  await keeper.retire('one', { drain: 'handover', killTimeoutMs: PATIENCE_MS });
  await waitFor('the connection to end', () => isEnded || void socket.write('early\n'));
  socket.write('late\n');
  await keeper.says('one', 'has late');
  socket.end();
  expect((await keeper.event('exited', 'one')).data).toMatchObject({ code: null, signal: 'SIGINT' });
});

const SERVES = `const server = require('node:http').createServer((request, response) => response.end()).listen(0);`;

test.each(
  ['cluster', 'fork'].flatMap((mode) => [
    [mode, 'closes its server', `process.on('SIGTERM', () => server.close());`],
    [mode, 'closes its server at SIGINT', `process.on('SIGINT', () => server.close());`],
    [
      mode,
      'closes its server, and listens to messages',
      `process.on('message', () => {}); process.on('SIGTERM', () => server.close());`,
    ],
    [
      mode,
      'works on after it has closed its server',
      `process.on('SIGTERM', () => server.close(() => setTimeout(() => (process.exitCode = 7), 300)));`,
    ],
  ]),
)('in %s mode an app that %s exits without a kill', async (mode, what, handler) => {
  const keeper = await realKeeper();
  await keeper.spawnNode('one', '', { mode, script: writeProgram(keeper.home, `${SERVES} ${handler}`) });
  await keeper.event('listening', 'one');
  await keeper.retire('one', { killTimeoutMs: 60_000 });
  expect((await keeper.event('exited', 'one')).data).toMatchObject({
    code: what.startsWith('works') ? 7 : 0,
    signal: null,
  });
});

test('an app that closes its server on the message "shutdown" exits without a kill', async () => {
  const keeper = await realKeeper();
  const handler = `process.on('message', (message) => message === 'shutdown' && server.close());`;
  await keeper.spawnNode('one', '', { script: writeProgram(keeper.home, `${SERVES} ${handler}`) });
  await keeper.event('listening', 'one');
  await keeper.retire('one', { killTimeoutMs: 60_000, message: true });
  expect((await keeper.event('exited', 'one')).data).toMatchObject({ code: 0, signal: null });
});

function writeProgram(folder, code) {
  const file = join(folder, 'app.cjs');
  writeFileSync(file, code);
  return file;
}
