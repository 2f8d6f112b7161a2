export function slotStatus(changes = {}) {
  return {
    id: 0,
    name: 'api',
    namespace: 'default',
    slot: 0,
    instanceId: 'i-0',
    pid: 4711,
    status: 'online',
    generation: 0,
    restarts: 0,
    unstableRestarts: 0,
    startedAtMs: 1_000_000,
    createdAtMs: 900_000,
    cpu: 0,
    memoryBytes: 47_300_000,
    mode: 'fork',
    version: '1.2.3',
    user: 'root',
    script: '/srv/app.js',
    args: [],
    interpreter: '/usr/bin/node',
    interpreterArgs: [],
    cwd: '/srv',
    outFile: '/l/api-out.log',
    errorFile: '/l/api-error.log',
    pidFile: '/h/pids/api-0.pid',
    nodeVersion: 'v20.11.0',
    watching: false,
    addresses: [],
    waitingFor: null,
    isReady: true,
    autorestart: true,
    lastDeath: null,
    ...changes,
  };
}

export function death(changes = {}) {
  return {
    atMs: 1_000_000,
    pid: 4700,
    code: 1,
    signal: null,
    cause: 'crash',
    by: null,
    uptimeMs: 350,
    wasReady: false,
    lastLines: [],
    ...changes,
  };
}

const CRASHES = {
  firstMs: 1_000_000,
  lastMs: 1_060_000,
  last: { cause: 'crash', code: 1, signal: null, uptimeMs: 350, words: 'Error: no database' },
};

export function trouble(kind = 'crash-loop', changes = {}) {
  return {
    id: `api:900000:${kind}`,
    kind,
    level: 'bad',
    app: 'api',
    slots: [0],
    sinceMs: 1_000_000,
    times: 3,
    evidence: CRASHES,
    ...changes,
  };
}
