import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { addPairs, noLatencies, percentiles } from '../../../daemon/control/metrics/latency.js';
import { realKeeper } from '../../helpers/keeper.js';
import { takePort } from '../../helpers/ports.js';
import { slowdown, waitFor } from '../../helpers/wait-for.js';

const ROUTES = `(request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  if (pathname === '/hang') return say('hangs');
  if (pathname === '/half') return void (response.writeHead(200), response.write('half'), say('half'));
  if (pathname === '/big') return void response.end(Buffer.alloc(2e7));
  if (pathname === '/block') for (const until = Date.now() + Number(searchParams.get('ms')); Date.now() < until;);
  if (pathname === '/garbage')
    for (const until = Date.now() + Number(searchParams.get('ms')), kept = []; Date.now() < until;)
      if (kept.push(Array(100).fill({})) > 1_000) kept.length = 0;
  if (pathname === '/exit') response.on('finish', () => process.exit(3));
  response.statusCode = Number(searchParams.get('status') ?? 200);
  setTimeout(() => response.end('done'), Number(searchParams.get('after') ?? 0));
}`;

async function service({
  code = `http.createServer(${ROUTES}).on('upgrade', (request, socket) => socket.end('HTTP/1.1 101 ` +
    `Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n\\r\\n'))`,
  params = {},
} = {}) {
  const keeper = await realKeeper();
  const port = await takePort();
  await keeper.spawnNode('one', 'runs-code', {
    ...params,
    env: { ...params.env, CODE: `${code}.listen(${port}, () => say('listens'));` },
  });
  await keeper.says('one', 'listens');
  const report = async () =>
    Object.entries((await keeper.call('reports')).reports).find(([id]) => keeper.shortId(id) === 'one')?.[1] ?? null;
  const counted = async (http) => {
    let last;
    const isSo = async () => {
      last = await report();
      return Object.entries(http).every(([key, value]) => JSON.stringify(last?.http?.[key]) === JSON.stringify(value));
    };
    await waitFor(`${JSON.stringify(http)}`, isSo).catch((error) => {
      throw new Error(`${error.message}\nlast: ${JSON.stringify(last)}`);
    });
  };
  return { keeper, port, report, counted };
}

/** @returns {Promise<number>} */
function ask(port, path, agent = false) {
  return new Promise((resolve, reject) => {
    get({ port, path, agent, host: '127.0.0.1' }, (response) =>
      response.resume().on('end', () => resolve(response.statusCode ?? 0)),
    ).on('error', reject);
  });
}

test.each(['cluster', 'fork'])('%s: the agent counts the same requests as the client', async (mode) => {
  const { keeper, port, counted } = await service({ params: { mode } });
  const agent = new Agent({ keepAlive: true, maxSockets: 3 });
  onTestFinished(() => agent.destroy());
  await Promise.all(Array.from({ length: 60 }, () => ask(port, '/', agent)));
  await Promise.all(Array.from({ length: 40 }, () => ask(port, '/?status=204')));
  await Promise.all(Array.from({ length: 7 }, () => ask(port, '/?status=302', agent)));
  await Promise.all(Array.from({ length: 5 }, () => ask(port, '/?status=404&after=20')));
  await Promise.all(Array.from({ length: 3 }, () => ask(port, '/?status=503', agent)));
  await counted({ requests: 115, active: 0, aborted: 0, upgrades: 0, responses: [0, 100, 7, 5, 3] });

  const pipelined = connect(port, '127.0.0.1');
  pipelined.write(
    'GET /?after=30 HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nGET /?status=500 ' +
      'HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  );
  await once(pipelined.resume(), 'close');
  await counted({ requests: 118, active: 0, responses: [0, 102, 7, 5, 4] });

  for (const path of ['/hang', '/half']) {
    const client = connect(port, '127.0.0.1');
    client.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await keeper.says('one', path === '/hang' ? 'hangs' : 'half');
    if (path === '/hang') await counted({ requests: 119, active: 1 });
    client.destroy();
  }
  await counted({ requests: 120, active: 0, aborted: 2, responses: [0, 102, 7, 5, 4] });

  // The app has written the whole answer, but the client leaves before most of it arrives.
  const left = connect(port, '127.0.0.1');
  left.write('GET /big HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(left, 'data');
  left.destroy();
  await counted({ requests: 121, active: 0, aborted: 3, responses: [0, 102, 7, 5, 4] });

  for (let at = 0; at < 4; at += 1) {
    const socket = connect(port, '127.0.0.1');
    socket.write(
      'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ' +
        'dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n',
    );
    await once(socket.resume(), 'close');
  }
  await counted({ requests: 121, upgrades: 4 });
});

test('HTTP/2 streams count as requests', async () => {
  const { port, counted, keeper } = await service({ code: `require('http2').createServer(${ROUTES})` });
  const connected = () => {
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    onTestFinished(() => session.destroy());
    return session;
  };
  const session = connected();
  const stream = (path, method = 'GET') => session.request({ ':path': path, ':method': method });
  await Promise.all(
    Array.from({ length: 20 }, (_, at) => once(stream(at < 5 ? '/?status=500' : '/').resume(), 'close')),
  );
  await Promise.all(
    ['/?status=204', '/?status=304', '/?status=404'].map((path) => once(stream(path).resume(), 'close')),
  );
  await once(stream('/', 'HEAD').resume(), 'close');
  await counted({ requests: 24, active: 0, aborted: 0, responses: [0, 17, 1, 1, 5] });
  const hanging = stream('/hang');
  hanging.on('error', () => {});
  await keeper.says('one', 'hangs');
  await counted({ requests: 25, active: 1 });
  hanging.close(8);
  await counted({ requests: 25, active: 0, aborted: 1, responses: [0, 17, 1, 1, 5] });
  const left = stream('/big');
  await once(left, 'data');
  left.close(8);
  await counted({ requests: 26, active: 0, aborted: 2, responses: [0, 17, 1, 1, 5] });
  const all = connected().request({ ':path': '/big' });
  await once(all.resume(), 'close');
  await counted({ requests: 27, active: 0, aborted: 2, responses: [0, 18, 1, 1, 5] });
});

test('a block of 200 ms in an idle event loop is measured correctly', async () => {
  const { port, report } = await service();
  await waitFor('a report', report);
  for (let times = 0; times < 3; times += 1) {
    const { seq } = await report();
    await ask(port, '/block?ms=200');
    let worst = 0;
    await waitFor('the block in a report', async () => {
      const { delayMs } = await report();
      worst = Math.max(worst, delayMs[2]);
      return worst >= 190;
    });
    expect(worst).toBeLessThan(1_000);
    await waitFor('the next report', async () => (await report()).seq > seq + 1);
  }
});

test('reports contain heap, event loop utilization, handles and connections', async () => {
  const { port, report } = await service();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  await ask(port, '/block?ms=300', agent);
  await waitFor('a report of a busy second', async () => ((await report())?.elu ?? 0) > 0.2);
  const figures = await report();
  expect(figures).toMatchObject({ connections: 1 });
  expect(figures.heapUsedBytes).toBeGreaterThan(1e6);
  expect(figures.oldSpaceLimitBytes).toBeGreaterThan(figures.heapUsedBytes);
  expect(figures.handles).toBeGreaterThan(0);
});

test.each([
  ['an argument', { execArgv: ['--max-old-space-size=80'] }, 80],
  ['NODE_OPTIONS', { env: { NODE_OPTIONS: '--no-warnings --max_old_space_size=90' } }, 90],
  ['both', { execArgv: ['--max-old-space-size=80'], env: { NODE_OPTIONS: '--max-old-space-size=90' } }, 80],
  ['the size of the heap', { execArgv: ['--max-heap-size=100', '--max-semi-space-size=4'] }, 88],
])('reports contain the limit of the old space from %s, and the process ends there', async (_, params, expected) => {
  const { keeper, port, report } = await service({
    params,
    code: `setInterval(() => { for (let at = 0; at < 20_000; at += 1) kept.push({ at, more: [at] }); }, 50);
      const kept = []; http.createServer(answer)`,
  });
  await keeper.event('exited', 'one');
  expect(port).toBeGreaterThan(0);
  const { oldSpaceLimitBytes, oldSpaceUsedBytes, majorGcs } = await report();
  expect(oldSpaceLimitBytes).toBe(expected * 1024 ** 2);
  expect(majorGcs).toBeGreaterThan(0);
  expect(oldSpaceUsedBytes / oldSpaceLimitBytes).toBeGreaterThan(0.25);
  expect(oldSpaceUsedBytes).toBeLessThanOrEqual(oldSpaceLimitBytes);
});

test('without an option, the limit of the old space is that of V8 without its young generation', async () => {
  const { report } = await service({ params: { execArgv: ['--max-semi-space-size=1'] } });
  const usual = await service();
  const limits = await waitFor('both reports', async () => {
    const both = [await report(), await usual.report()];
    return both.every(Boolean) && both.map(({ oldSpaceLimitBytes }) => oldSpaceLimitBytes);
  });
  expect(limits[0]).toBeGreaterThan(2 ** 27);
  expect(limits[1]).toBe(limits[0]);
});

test('the report shows how long a job waits in a full thread pool, also while the process is idle', async () => {
  const { keeper, port, report } = await service({
    code: `const fs = require('fs'); let opened = 0;
      fs.stat = fs.fstat = () => { throw new Error('patched'); };
      const open = () => fs.open('./fifo', 'r', () => (opened += 1) === 4 && say('all are open'));
      http.createServer((request, response) => {
        if (request.url === '/fill') for (let at = 0; at < 4; at += 1) open();
        response.end('done');
      })`,
  });
  execFileSync('mkfifo', [join(keeper.home, 'fifo')]);
  await ask(port, '/');
  await waitFor('a report', async () => (await report())?.poolWaitMs === 0);
  await ask(port, '/fill');
  const waits = [];
  await waitFor('three reports of the waiting job', async () => {
    const { poolWaitMs, atMono } = await report();
    if (poolWaitMs > 0 && waits.at(-1)?.[0] !== poolWaitMs) waits.push([poolWaitMs, atMono]);
    return waits.length >= 3;
  });
  for (const [at, [waitMs, atMono]] of waits.slice(1).entries()) {
    expect(waitMs).toBeGreaterThan(waits[at][0]);
    expect(atMono - waits[at][1]).toBeLessThan(3_000 * slowdown());
  }
  expect((await report()).elu).toBeLessThan(0.05);
  // Several openings at once could wait for one end each, so this end stays open.
  const end = openSync(join(keeper.home, 'fifo'), 'r+');
  onTestFinished(() => closeSync(end));
  await keeper.says('one', 'all are open');
  await waitFor('the end of the wait', async () => (await report()).poolWaitMs === 0);
});

test('the report has the age of the oldest request, and server-sent events are answered', async () => {
  const { keeper, port, report } = await service();
  const oldest = async () => (await report())?.http?.oldestMs;
  for (const path of ['/half', '/hang']) {
    const client = connect(port, '127.0.0.1');
    onTestFinished(() => void client.destroy());
    client.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await keeper.says('one', path === '/hang' ? 'hangs' : 'half');
    if (path === '/half') await waitFor('a report of an answered request', async () => (await oldest()) === null);
    else await waitFor('the age of the request', async () => (await oldest()) > 1_000);
    if (path === '/hang') client.destroy();
  }
  await waitFor('no open request', async () => (await oldest()) === null);
  expect((await report()).http.active).toBe(1);
});

test('a process that creates garbage reports a growing GC time, smaller than the elapsed time', async () => {
  const { port, report } = await service();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const readReport = async () => {
    await ask(port, '/garbage?ms=50', agent);
    return (await report()) ?? { seq: 0, gcMs: 0, atMono: 0 };
  };
  // Waits for the first collections, because the agent observes garbage collections only after the
  // first busy report.
  const first = await waitFor('the first collections', async () => {
    const one = await readReport();
    return one.gcMs > 0 && one;
  });
  const seen = [first];
  await waitFor('two more reports', async () => {
    const one = await readReport();
    if (one.seq > (seen.at(-1)?.seq ?? 0)) seen.push(one);
    return seen.length > 2;
  });
  expect(first.gcMs).toBeLessThan(first.atMono);
  for (const [at, one] of seen.slice(1).entries()) {
    expect(one.gcMs).toBeGreaterThan(seen[at].gcMs);
    expect(one.gcMs - seen[at].gcMs).toBeLessThan(one.atMono - seen[at].atMono);
  }
});

test('the median of 50 answers after 200 ms is 200 ms, within one step', async () => {
  const { port, report, counted } = await service();
  const agent = new Agent({ keepAlive: true, maxSockets: 5 });
  onTestFinished(() => agent.destroy());
  await Promise.all(Array.from({ length: 50 }, () => ask(port, '/?after=200', agent)));
  await counted({ requests: 50, responses: [0, 50, 0, 0, 0] });
  const { latency, durationMs } = (await report()).http;
  const steps = noLatencies();
  addPairs(steps, latency, 1);
  const [p50, p99] = percentiles(steps, [0.5, 0.99]);
  expect(steps.reduce((sum, count) => sum + count, 0)).toBe(50);
  expect(p50).toBeGreaterThan(200 / 1.19);
  expect(p50).toBeLessThan(200 * 1.19);
  expect(p99).toBeGreaterThanOrEqual(p50);
  expect(durationMs / 50).toBeGreaterThanOrEqual(199);
  expect(durationMs / 50).toBeLessThan(400 * slowdown());
});

test.each([
  ['by a timer', 0, '(function block() { spin(30); setTimeout(block, 1); })();'],
  ['by requests', 2, ''],
])(
  'an event loop that is blocked for 30 ms most of the time, %s, has that as its median delay',
  async (_, clients, more) => {
    const spin = 'const spin = (ms) => { for (const until = performance.now() + ms; performance.now() < until;); };';
    const { keeper, port, report } = await service({
      code: `${spin} ${more} http.createServer((request, response) => { spin(30); response.end('done'); })`,
    });
    let isOver = false;
    const asking = Array.from({ length: clients }, async () => {
      while (!isOver) await ask(port, '/');
    });
    const seen = [];
    try {
      await waitFor(
        'reports of a busy loop',
        async () => {
          const one = await report();
          if (one?.elu > 0.5 && one.seq > (seen.at(-1)?.seq ?? 0)) seen.push(one);
          return seen.length >= 6;
        },
        { deadlineMs: 20_000, context: () => keeper.output('one') },
      );
    } finally {
      isOver = true;
      await Promise.all(asking);
    }
    // Skips two reports, because the agent measures the delay closely only after the first busy
    // report.
    const steady = seen.slice(2).map(({ delayMs }) => delayMs);
    for (const [p50, p99, max] of steady) {
      expect(p99).toBeGreaterThanOrEqual(p50);
      expect(max).toBeGreaterThanOrEqual(p99);
      expect(p99).toBeGreaterThanOrEqual(29);
    }
    // Takes the second smallest median, because some medians are higher on a busy machine.
    const [, p50] = steady.map(([median]) => median).sort((x, y) => x - y);
    expect(p50).toBeGreaterThan(25);
    expect(p50).toBeLessThan(45 * slowdown());
  },
);

test.each([
  ['it exits', ({ port }) => ask(port, '/exit')],
  ['it is retired without a signal handler', ({ keeper }) => keeper.retire('one')],
])('the last report contains the answers of an app just before the end: %s', async (_, end) => {
  const one = await service();
  for (let at = 0; at < 9; at += 1) await ask(one.port, '/');
  await ask(one.port, '/?status=500');
  await end(one);
  const { data } = await one.keeper.event('gone', 'one');
  expect(data.report.http.responses[4]).toBe(1);
  expect(data.report.http.responses[1]).toBeGreaterThanOrEqual(9);
  expect(data.report.http.requests).toBe(data.report.http.responses[1] + 1);
  const { children } = await one.keeper.call('snapshot');
  expect(children[0].report).toEqual(data.report);
});

test('an app without metrics sends no reports, but still vitals', async () => {
  const { keeper, port, report } = await service({ params: { metrics: false } });
  await keeper.call('sample', { instanceId: 'one', everyMs: 50 });
  await ask(port, '/?status=500');
  await waitFor('vitals', () => keeper.events.some(({ event, data }) => event === 'vitals' && data.errors === 1));
  expect(await report()).toBe(null);
});

const POISONS = {
  'the clocks': 'for (const of of [performance, Date]) of.now = bad; process.hrtime = bad; process.uptime = bad;',
  'memory and CPU functions':
    'for (const name of ["memoryUsage", "cpuUsage", "getActiveResourcesInfo", "listenerCount"]) ' +
    'process[name] = bad; require("v8").getHeapStatistics = bad; performance.eventLoopUtilization = bad;',
  arrays:
    'for (const name of ["map", "filter", "entries", "at"]) Array.prototype[name] = bad; ' +
    'Object.getPrototypeOf(Float64Array.prototype).sort = bad;',
  numbers: 'for (const name of ["max", "min", "round", "ceil", "floor", "trunc"]) Math[name] = bad;',
  'the functions of the channel': 'process.send = bad; JSON.stringify = bad;',
  timers: 'for (const name of ["setInterval", "clearInterval", "setTimeout"]) globalThis[name] = bad;',
  'the built-in prototypes': 'for (const one of [Object, Array, Map, Set, Function]) Object.freeze(one.prototype);',
};

test.each(Object.entries(POISONS))('an app that has replaced or frozen %s still serves', async (_, poison) => {
  const code =
    `process.on('uncaughtException', (error) => say('caught ' + error.stack)); const bad = () => ` +
    `{ throw new Error('poison'); }; http.createServer((request, response) => ` +
    `response.end('ok')).on('listening', () => { ${poison} })`;
  const { keeper, port } = await service({ code });
  for (let at = 0; at < 5; at += 1) expect(await ask(port, '/')).toBe(200);
  // Makes the agent use timers and the channel to the keeper, which the app may have replaced.
  await keeper.call('sample', { instanceId: 'one', everyMs: 50 });
  const seen = () => keeper.events.find(({ event }) => event === 'agent-failed' || event === 'vitals');
  await waitFor('a report of the agent', seen);
  for (let at = 0; at < 5; at += 1) expect(await ask(port, '/')).toBe(200);
  await keeper.retire('one');
  expect(keeper.output('one')).not.toMatch(/caught/);
  const faults = keeper.events.filter(({ event }) => event === 'agent-failed').map(({ data }) => data.part);
  expect(faults).toEqual([...new Set(faults)]);
});

test('an error of a diagnostics subscriber of the app reaches the app, and the agent counts on', async () => {
  const code =
    `process.on('uncaughtException', () => say('thrown')); ` +
    `require('diagnostics_channel').subscribe('http.server.request.start', () => { throw new Error('mine'); }); ` +
    `http.createServer((request, response) => response.end('ok'))`;
  const { keeper, port, counted } = await service({ code });
  for (let at = 0; at < 5; at += 1) expect(await ask(port, '/')).toBe(200);
  await counted({ requests: 5, responses: [0, 5, 0, 0, 0] });
  await keeper.says('one', 'thrown');
});
