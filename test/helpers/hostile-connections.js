import { connect } from 'node:net';
import { hostileRequest } from './hostile-requests.js';
import { pickOne } from './random.js';
import { pause, within } from './wait-for.js';

/** @import { Socket } from 'node:net' */

const LOOKED_AT = 1024 * 1024;

/** Longer than the time limits of all servers in these tests. */
const HUNG_MS = 30_000;

/**
 * @typedef {object} Target
 * @property {number} port
 * @property {string[]} paths  The server answers these paths with status 200.
 * @property {string} root  A folder whose files must not be sent.
 * @property {string | null} token  Null: the server has no WebSocket.
 */

/** @typedef {{ kind: string, statuses: string[], text: string }} Outcome */

/**
 * @typedef {object} Attack
 * @property {string} kind
 * @property {Buffer} bytes
 * @property {Buffer[]} [frames]  Sent if the answer is 101.
 */

/** @type {Record<string, (random: () => number, target: Target) => string | Attack>} */
const KINDS = {
  path: (random, { root }) => hostileRequest(random, root),
  headers: (random, target) => headersAttack(random, target),
  body: (random, target) => bodyAttack(random, target),
  pipelined: (random, target) =>
    get(pickOne(random, target.paths)).repeat(2 + Math.floor(random() ** 4 * 3_000)) +
    (random() < 0.3 ? upgradeHead(random, target) : ''),
  garbage: (random) => garbage(random),
  upgrade: (random, target) => upgradeAttack(random, target),
};

const KIND_NAMES = ['path', 'path', 'path', 'headers', 'body', 'pipelined', 'garbage', 'upgrade', 'upgrade'];

/** `half` sends all, then closes its side. `reset` and `deaf` disconnect before the answer. */
const WAYS = ['whole', 'whole', 'whole', 'whole', 'split', 'half', 'cut', 'reset', 'deaf'];

/**
 * @param {() => number} random
 * @param {Target} target
 * @returns {Promise<Outcome>}  Rejects if the server neither answers nor closes the connection.
 */
export async function attack(random, target) {
  const kind = pickOne(random, KIND_NAMES);
  const made = KINDS[kind](random, target);
  const { bytes, frames = [] } = typeof made === 'string' ? { bytes: Buffer.from(made, 'latin1') } : made;
  const picked = frames.length > 0 ? 'whole' : pickOne(random, WAYS);
  // Garbage may look like the start of a request. So the client closes its side, because
  // otherwise it would wait until the server's time limit.
  const way = kind === 'garbage' && (picked === 'whole' || picked === 'split') ? 'half' : picked;
  const cutAt = Math.floor(random() * bytes.length);
  const socket = connect({ port: target.port, host: '127.0.0.1', allowHalfOpen: true });
  const got = listen(socket, frames);
  try {
    if (way === 'reset') {
      await written(socket, bytes.subarray(0, cutAt));
      socket.resetAndDestroy();
    } else if (way === 'deaf') {
      socket.pause();
      await written(socket, bytes);
      socket.destroy();
    } else if (way === 'cut' || way === 'half') socket.end(way === 'cut' ? bytes.subarray(0, cutAt) : bytes);
    else {
      if (way === 'split') await written(socket, bytes.subarray(0, cutAt));
      socket.write(way === 'split' ? bytes.subarray(cutAt) : bytes);
    }
    const text = await within(
      `an answer to ${way} ${kind} ${JSON.stringify(bytes.subarray(0, 300).toString('latin1'))}`,
      got,
      HUNG_MS,
    );
    return { kind, text, statuses: [...text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => status) };
  } finally {
    socket.destroy();
  }
}

const CONTINUE = '100 Continue\r\n\r\n';

/**
 * @param {Socket} socket
 * @param {Buffer[]} frames
 * @returns {Promise<string>}
 */
function listen(socket, frames) {
  let text = '';
  let isAnswered = false;
  socket.setEncoding('latin1');
  socket.on('data', (part) => {
    if (text.length < LOOKED_AT) text += part;
    if (isAnswered || !text.includes('\r\n\r\n') || text.endsWith(CONTINUE)) return;
    isAnswered = true;
    for (const frame of text.startsWith('HTTP/1.1 101 ') ? frames : []) socket.write(frame);
    socket.end();
  });
  socket.on('end', () => socket.end());
  socket.on('error', () => {}); // A connection that is reset counts as closed.
  return new Promise((resolve) => socket.once('close', () => resolve(text)));
}

/**
 * @param {Socket} socket
 * @param {Buffer} bytes
 * @returns {Promise<void>}  Resolves when the system has the bytes, or the connection is closed.
 */
function written(socket, bytes) {
  return new Promise((resolve) => {
    socket.once('close', () => resolve());
    socket.write(bytes, () => resolve());
  });
}

/**
 * @param {number} port
 * @param {string} beginning
 * @param {number} everyMs
 * @returns {Promise<string>}
 */
export async function drip(port, beginning, everyMs) {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  let text = '';
  let isClosed = false;
  const got = new Promise((resolve) => {
    socket.on('data', (part) => (text += part)).on('error', () => {});
    socket.once('close', () => resolve(text));
  }).finally(() => (isClosed = true));
  socket.write(beginning);
  while (!isClosed) {
    socket.write('x');
    await pause(everyMs);
  }
  return got;
}

/** @param {string} path */
const get = (path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

const NAMES = [
  'Host',
  'Content-Length',
  'Transfer-Encoding',
  'Connection',
  'Upgrade',
  'Expect',
  'Accept',
  'Accept-Encoding',
  'Authorization',
  'Cookie',
  'If-None-Match',
  'If-Modified-Since',
  'Origin',
  'Range',
  'Trailer',
  'Proxy-Connection',
  '__proto__',
  'constructor',
  'X',
  'X Y',
  '',
  '\xff',
  'X\u0000',
];
const VALUES = [
  '',
  '*',
  '0',
  '-1',
  '18446744073709551616',
  '0x10',
  '1, 2',
  'chunked',
  'chunked, chunked',
  'identity',
  'close',
  'keep-alive, upgrade',
  'upgrade',
  'websocket',
  '100-continue',
  'a miracle',
  'application/openmetrics-text',
  'localhost',
  '127.0.0.1:1',
  '[::1]',
  '[::1',
  'evil.example',
  'localhost:99999999999',
  'null',
  'Basic !!',
  'bytes=0-',
  '\xff\xfe',
  'a\u0000b',
  'a\r\n b',
  '\t',
  ';'.repeat(1_000),
  '"'.repeat(1_000),
  'gzip;q=0.00000001,'.repeat(200),
];

/**
 * @param {() => number} random
 * @param {Target} target
 */
function headersAttack(random, { paths }) {
  const shape = random();
  const count = shape < 0.2 ? Math.floor(random() * 3_000) : Math.floor(random() * 12);
  const lines = Array.from(
    { length: count },
    () => `${pickOne(random, NAMES)}${pickOne(random, [': ', ':', ' :', ''])}${pickOne(random, VALUES)}`,
  );
  if (shape > 0.9) lines.push(`X: ${'x'.repeat(Math.floor(random() * 100_000))}`);
  if (random() < 0.7) lines.unshift('Host: localhost');
  const end = pickOne(random, ['\r\n', '\r\n', '\n', '\r']);
  return `GET ${pickOne(random, paths)} HTTP/1.1\r\n${lines.join(end)}\r\n\r\n`;
}

/**
 * @param {() => number} random
 * @param {Target} target
 */
function bodyAttack(random, { paths }) {
  const method = pickOne(random, ['GET', 'GET', 'HEAD', 'POST', 'PUT', 'OPTIONS', 'TRACE', 'QUERY']);
  const length = Math.floor(random() ** 3 * 200_000);
  const headers = pickOne(random, [
    `Content-Length: ${length}`,
    `Content-Length: ${length + 10}`,
    'Content-Length: 99999999999999',
    'Transfer-Encoding: chunked',
    `Transfer-Encoding: chunked\r\nContent-Length: ${length}`,
    `Content-Length: ${length}\r\nExpect: 100-continue`,
    'Transfer-Encoding: chunked\r\nTrailer: X',
  ]);
  const body = pickOne(random, [
    'x'.repeat(length),
    `${length.toString(16)}\r\n${'x'.repeat(length)}\r\n0\r\n\r\n`,
    '0\r\nX: y\r\n\r\n',
    'ffffffffffffffff\r\nx',
    '-1\r\n\r\n',
    `1;${'x'.repeat(length)}\r\nx`,
    get(pickOne(random, paths)),
  ]);
  return `${method} ${pickOne(random, paths)} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n\r\n${body}`;
}

/**
 * @param {() => number} random
 * @returns {Attack}
 */
function garbage(random) {
  const bytes = Buffer.from(Array.from({ length: 1 + Math.floor(random() * 600) }, () => Math.floor(random() * 256)));
  const starts = [
    '',
    '\r\n\r\n',
    'GET ',
    'GET / HTTP/1.1\r\n',
    'GET / HTTP/1.1\r\nHost: ',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'HTTP/1.1 200 OK\r\n\r\n',
    '{"jsonrpc":"2.0","id":1,"method":"list"}\n',
    `GET /${'x'.repeat(20_000)}`,
  ];
  return { kind: 'garbage', bytes: Buffer.concat([Buffer.from(pickOne(random, starts), 'latin1'), bytes]) };
}

/**
 * @param {() => number} random
 * @param {Target} target
 */
function upgradeHead(random, { port }) {
  const odd = (/** @type {string} */ usual, /** @type {string[]} */ others) =>
    random() < 0.95 ? usual : pickOne(random, others);
  const lines = [
    `Host: ${odd(`127.0.0.1:${port}`, ['evil.example', '', 'localhost', 'x'.repeat(5_000)])}`,
    `Origin: ${odd(`http://127.0.0.1:${port}`, ['null', '', 'http://evil.example', 'http://localhost'])}`,
    `Connection: ${odd('Upgrade', ['keep-alive', 'Upgrade, Upgrade', 'close, upgrade'])}`,
    `Upgrade: ${odd('websocket', ['h2c', 'websocket, websocket', 'WebSocket', 'x'.repeat(3_000)])}`,
    `Sec-WebSocket-Version: ${odd('13', ['8', '0', '-1', '13, 8', ''])}`,
    `Sec-WebSocket-Key: ${odd('dGhlIHNhbXBsZSBub25jZQ==', ['', 'x', '='.repeat(24), 'dGhlIHNhbXBsZSBub25jZQ'])}`,
  ];
  if (random() < 0.2)
    lines.push(
      `Sec-WebSocket-Extensions: ${pickOne(random, [
        'permessage-deflate',
        'permessage-deflate; server_max_window_bits=99',
        ';;;',
        '"',
        ','.repeat(2_000),
      ])}`,
    );
  if (random() < 0.2)
    lines.push(`Sec-WebSocket-Protocol: ${pickOne(random, ['x', 'x, x', '', ',', '\xff', ','.repeat(2_000)])}`);
  return `GET ${odd('/socket', ['/', '/socket?x', '//', '*'])} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}

/**
 * @param {() => number} random
 * @param {Target} target
 * @returns {Attack}
 */
function upgradeAttack(random, target) {
  const bytes = Buffer.from(upgradeHead(random, target), 'latin1');
  const { token } = target;
  if (token === null) return { kind: 'upgrade', bytes };
  const frames = Array.from({ length: 1 + Math.floor(random() * 20) }, () => frame(random));
  const given = pickOne(random, [token, token, 'x'.repeat(43), null]);
  if (given !== null)
    frames.unshift(
      encode(0x81, request('authenticate', { token: given })),
      ...(random() < 0.5 ? Array.from({ length: 10 }, () => encode(0x81, pageRequest(random))) : []),
    );
  return { kind: 'upgrade', bytes, frames };
}

/** @param {() => number} random */
function frame(random) {
  const shape = random();
  if (shape < 0.3) return encode(0x81, pageRequest(random));
  if (shape < 0.4) return Buffer.concat(Array.from({ length: 2_000 }, () => encode(0x89, Buffer.alloc(125))));
  if (shape < 0.5) return Buffer.from(Array.from({ length: 100 }, () => Math.floor(random() * 256)));
  if (shape < 0.6) return Buffer.concat(Array.from({ length: 2_000 }, (_, at) => encode(at === 0 ? 1 : 0, 'x')));
  const first = Math.floor(random() * 256);
  const payload = pickOne(random, ['', 'x', '\xff\xfe', '\x03', '\x03\xe8bye', 'x'.repeat(70_000), '['.repeat(60_000)]);
  const lies = random() < 0.3 ? Math.floor(random() * 2 ** 31) : null;
  return encode(first, Buffer.from(payload, 'latin1'), { isMasked: random() < 0.9, lies });
}

/**
 * @param {number} first  FIN, the reserved bits and the opcode.
 * @param {Buffer | string} payload
 * @param {{ isMasked?: boolean, lies?: number | null }} [o]  `lies`: a wrong length for the header.
 * @returns {Buffer}  The mask is 0, so the payload stays unchanged.
 */
function encode(first, payload, { isMasked = true, lies = null } = {}) {
  const length = Buffer.alloc(9);
  length[0] = (isMasked ? 0x80 : 0) | 127;
  length.writeBigUInt64BE(BigInt(lies ?? payload.length), 1);
  // Short lengths use the short form, because control frames must not use the long form.
  const short = payload.length < 126 && lies === null ? Buffer.from([(isMasked ? 0x80 : 0) | payload.length]) : length;
  return Buffer.concat([Buffer.from([first]), short, Buffer.alloc(isMasked ? 4 : 0), Buffer.from(payload)]);
}

/**
 * @param {unknown} method
 * @param {unknown} params
 */
const request = (method, params) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });

const METHODS = [
  'hello',
  'list',
  'metrics',
  'logs',
  'events',
  'eventLog',
  'unsubscribe',
  'start',
  'stop',
  'scale',
  'delete',
  'authenticate',
  '__proto__',
  'constructor',
  'toString',
  '',
  'x'.repeat(1_000),
  null,
  {},
];
/** @type {unknown[]} */
const ODD = [
  null,
  0,
  -1,
  1e308,
  1.5,
  true,
  '',
  'x'.repeat(300),
  '/(a+)+$/',
  [],
  [[]],
  {},
  { toString: 1 },
  ['a', 'a'],
  '\u0000',
  '\ud800',
  '__proto__',
  '2026-01-01',
];
const PARAMS = ['targets', 'lines', 'follow', 'subscription', 'since', 'until', 'grep', 'level', 'cursor', 'streams'];
const MORE_PARAMS = ['app', 'id', 'detail', 'history', 'custom', 'workers', 'brief', 'target', 'token', '__proto__'];

/** @param {() => number} random */
function pageRequest(random) {
  const names = [...PARAMS, ...MORE_PARAMS].filter(() => random() < 0.2);
  return request(
    pickOne(random, METHODS),
    random() < 0.1 ? pickOne(random, ODD) : Object.fromEntries(names.map((name) => [name, pickOne(random, ODD)])),
  );
}
