import { createRandom } from './random.js';
import { openWire } from './wire.js';

const METHODS = [
  'hello',
  'list',
  'start',
  'stop',
  'restart',
  'delete',
  'scale',
  'reset',
  'signal',
  'save',
  'resurrect',
  'logs',
  'unsubscribe',
  'nope',
  '__proto__',
  'constructor',
];

/**
 * Sends random frames. No frame is a valid request to change something.
 * @param {string} sock
 * @param {{ frames: number, seed: number }} o
 * @returns {Promise<void>}  Resolves when the server has processed all frames.
 */
export async function fuzzFrames(sock, { frames, seed }) {
  const random = createRandom(seed);
  for (let sent = 0; sent < frames;) {
    const wire = await openWire(sock);
    let isOpen = true;
    void wire.closed.then(() => (isOpen = false));
    const burst = 1 + Math.floor(random() * 40);
    for (let i = 0; i < burst && isOpen && sent < frames; i += 1, sent += 1) wire.write(frame(random));
    await Promise.race([wire.closed, wire.request('hello').catch(() => {})]);
    wire.close();
  }
  const last = await openWire(sock);
  await last.request('hello');
  last.close();
}

/** @param {() => number} random */
function frame(random) {
  const pick = (/** @type {unknown[]} */ values) => values[Math.floor(random() * values.length)];
  const kind = random();
  if (kind < 0.2)
    return Buffer.from(Array.from({ length: 1 + Math.floor(random() * 300) }, () => Math.floor(random() * 256)));
  if (kind < 0.3)
    return `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'list' }).slice(0, Math.floor(random() * 30))}\n`;
  if (kind < 0.32)
    return `{"jsonrpc":"2.0","id":1,"method":"list","params":{"x":"${'y'.repeat(Math.floor(random() * 200_000))}"}}\n`;
  if (kind < 0.4) return `${'['.repeat(Math.floor(random() * 20_000))}\n`;
  const strange = [
    null,
    0,
    -1,
    1e308,
    true,
    '',
    'x'.repeat(300),
    [],
    [[]],
    {},
    { __proto__: 1 },
    { targets: null },
    { targets: [{}] },
    '\u0000',
    '\ud800',
  ];
  return `${JSON.stringify({
    jsonrpc: pick(['2.0', '2.0', '1.0', 2, null]),
    id: pick([1, 'a', null, {}, [], -5, 1e300, undefined]),
    method: pick([...METHODS, 7, null, {}]),
    // Contains no token, because without a token no request to change something is valid.
    params: pick([
      ...strange,
      {
        targets: pick(strange),
        specs: pick(strange),
        instances: pick(strange),
        lines: pick(strange),
        follow: pick(strange),
        subscription: pick(strange),
      },
    ]),
  })}\n`;
}
