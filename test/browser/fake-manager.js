import { createServer } from 'node:http';
import { WebSocketServer } from 'ws';
import { onTestFinished } from 'vitest';
import { readPageFiles } from '../../daemon/control/web/server.js';

/** The Content-Security-Policy of the real manager. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri " +
  "'none'; form-action 'none'; frame-ancestors 'none'";

export const TOKEN = 'a'.repeat(43);

const FILES = readPageFiles();

/**
 * Starts a fake manager for the page. dashboard.test.js tests the page with a real manager.
 * @param {Record<string, (params: any, client: any) => any>} [o.methods]  These methods replace
 *   methods of the fake manager.
 */
export async function fakeManager({ mayAct = false, workers = [worker({})], methods = {} } = {}) {
  const state = {
    version: '1.2.3',
    workers,
    mayAct,
    events: [],
    notices: [],
    troubles: [],
    asked: [],
    atMs: Date.now(),
  };
  const clients = new Set();
  const server = createServer((request, response) => {
    const file = FILES.get((request.url ?? '').split('?')[0]);
    response.writeHead(file ? 200 : 404, {
      'content-security-policy': POLICY,
      'cache-control': 'no-cache',
      ...(file ? { 'content-type': file.type } : {}),
    });
    response.end(file?.bytes);
  });
  const sockets = new WebSocketServer({ server, path: '/socket', perMessageDeflate: false });
  let isDeaf = false;

  sockets.on('connection', (socket) => {
    const send = (message) => socket.send(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const client = {
      socket,
      subscriptions: new Map(),
      notify: (method, params) => send({ method, params }),
    };
    socket.on('message', async (data) => {
      const { id, method, params } = JSON.parse(String(data));
      if (method === 'authenticate') {
        if (params.token !== TOKEN) return socket.close(4401);
        clients.add(client);
        return send({
          id,
          result: { version: state.version, home: '/home/x', host: 'web-01', mayAct: state.mayAct, pollMs: 1_000 },
        });
      }
      state.asked.push({ method, params });
      if (params.subscription && method !== 'unsubscribe') client.subscriptions.set(params.subscription, method);
      if (method === 'unsubscribe') client.subscriptions.delete(params.subscription);
      try {
        const result = await (methods[method] ?? defaults[method] ?? (() => ({})))(params, client);
        return send({ id, result });
      } catch (error) {
        const { message, code, hint } = error;
        return send({ id, error: { code: -32000, message, data: { code, hint } } });
      }
    });
    socket.on('close', () => clients.delete(client));
  });

  const defaults = {
    metrics: ({ history, targets }) => ({
      ...sampleOf(state),
      tickMs: 1_000,
      ...(history ? { history: historyOf(state, history, targets) } : {}),
    }),
    list: ({ targets }) => ({
      slots: state.workers
        .filter(({ id, name }) => !targets || targets.includes(name) || targets.includes(String(id)))
        .map(slotOf),
      notices: state.notices,
    }),
    eventLog: () => ({ events: state.events }),
    events: () => ({}),
    logs: ({ subscription }, client) => {
      client.notify('log', {
        subscription,
        entries: [entry('first line'), entry('\u001b[31mred\u001b[0m and an error', 'err')],
        cursor: { a: 1 },
      });
      return { subscription, cursor: { a: 1 } };
    },
  };

  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(undefined));
  });
  const { port } = server.address();
  onTestFinished(
    () => void (server.closeAllConnections(), server.close(), sockets.clients.forEach((client) => client.terminate())),
  );

  const tell = (method, name, params) => {
    for (const client of clients)
      for (const [subscription, followed] of client.subscriptions)
        if (followed === method) client.notify(name, { subscription, ...params });
  };
  return {
    state,
    origin: `http://127.0.0.1:${port}`,
    url: `http://127.0.0.1:${port}/#token=${TOKEN}`,
    tick(now) {
      state.workers = now ?? state.workers;
      state.atMs += 1_000;
      if (!isDeaf) tell('metrics', 'metrics', sampleOf(state));
    },
    happen(event) {
      state.events.push(event);
      tell('eventLog', 'event', { events: [event] });
      tell('events', 'event', { events: [] });
    },
    log: (entries, more = {}) => tell('logs', 'log', { entries, ...more }),
    progress: (params) => clients.forEach((client) => client.notify('progress', params)),
    asked: (method) => state.asked.filter((one) => one.method === method).map(({ params }) => params),
    cut: (code = 1012) => clients.forEach(({ socket }) => socket.close(code)),
    away() {
      sockets.clients.forEach((client) => client.terminate());
      sockets.shouldHandle = () => false;
    },
    back: () => {
      sockets.shouldHandle = (request) => request.url === '/socket';
    },
    fallSilent: () => {
      isDeaf = true;
    },
  };
}

export function worker({ id = 0, name = 'api', slot = 0, requestsPerS = 120, ...over }) {
  return {
    id,
    name,
    slot,
    namespace: 'default',
    pid: 4_000 + id,
    instanceId: `i${id}`,
    status: 'online',
    generation: 1,
    startedAtMs: Date.now() - 3_720_000,
    isNode: true,
    restarts: 0,
    cpu: 12.5,
    memoryBytes: 47_500_000,
    processes: 1,
    fds: 20,
    heapUsedBytes: 9_000_000,
    elu: 0.1,
    delayP50Ms: 1,
    delayP99Ms: 4,
    delayMaxMs: 8,
    gcMsPerS: 1,
    connections: 3,
    http: {
      requestsPerS,
      errorsPerS: 0,
      activeRequests: 1,
      oldestRequestMs: null,
      latencyP50Ms: 2,
      latencyP95Ms: 5,
      latencyP99Ms: 9,
      totals: {},
    },
    pssBytes: null,
    privateBytes: null,
    oldSpaceUsedBytes: null,
    majorGcs: 0,
    oldSpaceLimitBytes: 1e9,
    poolWaitMs: 0,
    externalBytes: 1e6,
    handles: 3,
    reportAgeMs: 400,
    ...over,
  };
}

export function entry(line, stream = 'out', id = 0) {
  return { id, name: 'api', stream, line, atMs: Date.now() };
}

function sampleOf({ workers, troubles, atMs }) {
  const names = [...new Set(workers.map(({ name }) => name))];
  const apps = names.map((name) => {
    const own = workers.filter((one) => one.name === name);
    const sum = (field) => own.reduce((all, one) => all + (one[field] ?? 0), 0);
    return {
      ...own[0],
      cpu: sum('cpu'),
      memoryBytes: sum('memoryBytes'),
      restarts: sum('restarts'),
      workers: own.length,
      online: own.filter(({ status }) => status === 'online').length,
    };
  });
  const host = {
    cpu: 23.4,
    cores: 4,
    memoryTotalBytes: 16e9,
    memoryUsedBytes: 6e9,
    load1: 0.5,
    load5: 0.4,
    load15: 0.3,
    diskTotalBytes: 1e11,
    diskUsedBytes: 4e10,
    uptimeS: 1e5,
  };
  return {
    atMs,
    host,
    troubles,
    manager: { keeper: { pid: 1, cpu: 0, memoryBytes: 1 }, control: { pid: 2, cpu: 0, memoryBytes: 1 } },
    apps,
    workers,
  };
}

function historyOf(
  { workers, atMs },
  { series = ['cpu', 'memoryBytes', 'delayP99Ms', 'requestsPerS', 'errorsPerS', 'latencyP99Ms'], stepMs, points = 600 },
  targets,
) {
  const wave = (base) =>
    Array.from({ length: points }, (_, at) => (at < points / 3 ? null : base * (1 + Math.sin(at / 9) / 2)));
  const all = (one) => Object.fromEntries(series.map((name) => [name, wave(name === 'memoryBytes' ? 5e7 : one.cpu)]));
  const own = workers.filter(({ id, name }) => !targets || targets.includes(name) || targets.includes(String(id)));
  return {
    stepMs,
    endMs: atMs,
    points,
    workers: own.map((one) => ({ id: one.id, name: one.name, slot: one.slot, series: all(one) })),
    apps: [...new Set(own.map(({ name }) => name))].map((name) => ({ name, series: all(own[0]) })),
    host: { cpu: wave(20), memoryUsedBytes: [], load1: [] },
  };
}

function slotOf(one) {
  return {
    ...one,
    unstableRestarts: 0,
    createdAtMs: Date.now() - 8e6,
    mode: 'cluster',
    version: '2.0.1',
    user: 'app',
    script: '/srv/api/server.js',
    args: [],
    interpreter: 'node',
    interpreterArgs: [],
    cwd: '/srv/api',
    outFile: '/h/logs/api-out.log',
    errorFile: '/h/logs/api-error.log',
    pidFile: '',
    nodeVersion: 'v20.11.0',
    watching: false,
    addresses: [{ address: '0.0.0.0', port: 3000, family: 'IPv4' }],
    waitingFor: null,
    isReady: true,
    autorestart: true,
    lastDeath: one.lastDeath ?? null,
    deaths: [],
    triggers: { watch: null, nextRunMs: null, memory: null, last: null },
    logLost: null,
    axm: { actions: [], monitor: { 'queue length': { value: 7, unit: 'jobs' } }, options: {} },
    spec: {
      autorestart: true,
      maxRestarts: 16,
      restartDelayMs: 0,
      killTimeoutMs: 10_000,
      stopSignal: null,
      waitReady: false,
      listenTimeoutMs: 3_000,
      minUptimeMs: 1_000,
      maxMemoryBytes: 0,
      cronRestart: null,
    },
  };
}
