import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../../../lib/config/file/read.js';
import { typeStrippingFlags } from '../../../../lib/config/spec/interpreter.js';
import { serveScript } from '../../../../lib/serve/options.js';
import { TIME_FORMAT } from '../../../../lib/app-spec/logs-fields.js';

const FOLDER = fileURLToPath(new URL('../../../fixtures/ecosystems/', import.meta.url)).replace(/\/$/, '');
const NODE = { file: process.execPath, version: process.version };
const at = (path) => join(FOLDER, path);

/** A folder of programs that this machine may not have. @type {string} */
let bin;

beforeAll(() => {
  bin = mkdtempSync(join(tmpdir(), 'nclust-path-'));
  mkdirSync(bin, { recursive: true });
  for (const name of ['bash', 'python3', 'bun', 'hello', 'npm']) {
    writeFileSync(join(bin, name), name === 'npm' ? '#!/usr/bin/env node\n' : '#!/bin/sh\n');
    chmodSync(join(bin, name), 0o755);
  }
});
afterAll(() => rmSync(bin, { recursive: true }));
afterEach(() => {
  delete process.env.ECOSYSTEM_GREETING;
});

const read = (file, { shell = { PATH: bin }, ...wanted } = {}) =>
  readConfig({ cwd: FOLDER, env: shell, node: NODE }, { file, ...wanted });

/** The expected apps of each file, by their names. */
const MEANT = [
  [
    'array.config.js',
    {
      api: {
        script: at('server.js'),
        cwd: FOLDER,
        kind: 'node',
        mode: 'fork',
        instances: 1,
        instancesGiven: false,
        version: '4.5.6',
      },
      worker: { script: at('worker.js') },
    },
  ],
  ['single.config.js', { alone: { script: at('worker.js'), maxRestarts: 3 } }],
  [
    'apps.config.js',
    {
      API: {
        mode: 'cluster',
        instances: 1,
        instancesGiven: true,
        args: ['one', 'two'],
        watch: [],
        maxMemoryBytes: 1024 ** 3,
        env: { NODE_ENV: 'development' },
        envName: null,
      },
    },
  ],
  [
    'apps.config.js',
    { API: { env: { NODE_ENV: 'production', PORT: '8080' }, envName: 'production' } },
    { env: 'production' },
  ],
  ['one-in-apps.json', { only: { script: at('worker.js'), cwd: FOLDER } }],
  ['function.config.js', { 'api-local': { instances: 1 } }],
  ['function.config.js', { 'api-production': { instances: 4, mode: 'cluster' } }, { env: 'production' }],
  ['promise.config.js', { later: { script: at('worker.js') } }],
  ['async-function.config.mjs', { asked: { env: { CHOSEN: 'staging' } } }, { env: 'staging' }],
  ['default.config.mjs', { esm: { script: at('server.js'), mode: 'cluster', instances: 2 } }],
  ['named.config.mjs', { named: { script: at('worker.js') } }],
  ['compiled.config.cjs', { compiled: { script: at('dist/main.js') } }],
  [
    'process.yml',
    {
      thumbnails: {
        script: at('server.js'),
        mode: 'cluster',
        instances: 4,
        maxMemoryBytes: 300 * 1024 ** 2,
        env: { LOG_LEVEL: 'info', RETRIES: '3', VERBOSE: 'yes' },
      },
      worker: {
        args: ['--queue', 'mail', '3'],
        killTimeoutMs: 5_000,
        autorestart: true,
        env: { LOG_LEVEL: 'debug', RETRIES: '3', VERBOSE: 'yes' },
      },
    },
  ],
  ['comments.json', { commented: { args: ['--color'], errorFile: at('logs/err.log') } }],
  ['loose.json5', { loose: { killTimeoutMs: 3_000 } }],
  [
    'in-package/package.json',
    { packaged: { script: at('in-package/index.js'), cwd: at('in-package'), instances: 2, version: '1.2.3' } },
  ],
  [
    'numbers.config.js',
    {
      max: { instances: 'max', mode: 'cluster' },
      zero: { instances: 'max', mode: 'cluster' },
      less: { instances: '-1', mode: 'cluster' },
      text: { instances: 2, mode: 'cluster' },
      half: { instances: '50%', mode: 'cluster' },
      forks: { instances: 3, mode: 'fork' },
      forced: { instances: 2, mode: 'fork' },
      'cluster-of-one': { instances: 1, mode: 'cluster' },
    },
  ],
  [
    'commands.config.js',
    {
      npm: { kind: 'node', args: ['run', 'start:prod', '--', '--port', '3000'], cwd: FOLDER },
      line: {
        kind: 'exec',
        script: 'node server.js --port 3000 | cat',
        execArgs: ['-c', 'node server.js --port 3000 | cat'],
      },
      'sleep 1000000': { script: 'sleep 1000000' },
      cmd: { kind: 'exec', interpreter: 'none', execArgs: ['a b'] },
    },
  ],
  [
    'quotes.config.js',
    {
      text: { args: ['--title', 'Hello world', '--path=/a b', 'plain escaped', ''] },
      list: { args: ['--title', 'Hello world', '8080', 'true'] },
      node: { interpreterArgs: ['--max-old-space-size=400', '--title=a b'] },
      nodes: { interpreterArgs: ['--no-warnings', '--title=a b'] },
      none: { args: [] },
    },
  ],
  [
    'cron.config.js',
    {
      nightly: { cronRestart: '0 3 * * *', autorestart: false },
      seconds: { cronRestart: '*/10 * * * * *' },
      off: { cronRestart: null },
      waits: { autostart: false },
    },
  ],
  [
    'watch.config.js',
    {
      here: {
        watch: ['.'],
        ignoreWatch: ['node_modules', 'logs', '/\\.tmp$/'],
        watchDelayMs: 1_000,
        watchOptions: { followSymlinks: false },
      },
      paths: { watch: ['api', 'dist'], ignoreWatch: ['public'] },
      path: { watch: ['./api'] },
      not: { watch: [] },
    },
  ],
  [
    'logs.config.js',
    {
      files: {
        outFile: at('logs/out.log'),
        errorFile: at('logs/err.log'),
        logDateFormat: 'YYYY-MM-DD HH:mm Z',
        mergeLogs: true,
      },
      aliases: { outFile: '/var/log/a.log', errorFile: '/var/log/b.log', logFile: 'default', mergeLogs: false },
      nowhere: { outFile: '/dev/null', errorFile: 'NULL', logType: 'json', logDateFormat: TIME_FORMAT },
      rotated: { logMaxSizeBytes: 50 * 1024 ** 2, logInterval: 'daily', logShip: ['syslog+udp://127.0.0.1:514'] },
    },
  ],
  [
    'camel.config.js',
    {
      camel: {
        script: at('server.js'),
        mode: 'cluster',
        instances: 2,
        maxMemoryBytes: 200 * 1024 ** 2,
        killTimeoutMs: 4_000,
        errorFile: '/tmp/e.log',
        outFile: '/tmp/o.log',
        waitReady: true,
        listenTimeoutMs: 8_000,
        interpreterArgs: ['--no-warnings'],
        minUptimeMs: 60_000,
        maxRestarts: 10,
        backoffMs: 200,
        ignoreWatch: ['x'],
        cronRestart: '@daily',
        mergeLogs: true,
        stopExitCodes: [0, 3],
      },
    },
  ],
  [
    'dotenv.config.js',
    { dotenv: { env: { GREETING: 'hello' }, shellEnv: expect.objectContaining({ ECOSYSTEM_GREETING: 'hello' }) } },
    { shell: process.env },
  ],
  [
    'cwd.config.js',
    {
      absolute: { cwd: at('api'), script: at('api/server.js') },
      relative: { cwd: at('api'), script: at('api/server.js') },
      'script-outside': { cwd: at('public'), script: at('worker.js') },
      'script-absolute': { cwd: FOLDER, script: at('dist/main.js') },
      'script-below': { cwd: FOLDER, script: at('api/server.js') },
    },
  ],
  [
    'deploy/pm2.config.js',
    {
      main: { cwd: FOLDER, script: at('dist/main.js') },
      'in-api': { cwd: at('api'), script: at('api/server.js') },
      npm: { cwd: FOLDER },
    },
  ],
  [
    'policy.config.js',
    {
      policy: {
        autorestart: false,
        maxRestarts: 5,
        minUptimeMs: 60_000,
        restartDelayMs: 4_000,
        backoffMs: 150,
        stopExitCodes: [0],
        killTimeoutMs: 1_600,
        waitReady: true,
        listenTimeoutMs: 3_000,
        shutdownWithMessage: true,
        treekill: false,
        maxMemoryBytes: 314_572_800,
        stopSignal: 'SIGTERM',
        scheduling: 'sticky',
        maxSurge: 2,
      },
    },
  ],
  [
    'legacy.config.js',
    {
      legacy: {
        interpreterArgs: ['--enable-source-maps'],
        instanceVar: 'WORKER',
        incrementVar: 'PORT',
        env: { PORT: '4000' },
        namespace: 'old',
        user: 'deploy',
        filterEnv: ['AWS_'],
      },
    },
  ],
  [
    'values.config.js',
    {
      values: {
        env: {
          NUMBER: '42',
          YES: 'true',
          NO: 'false',
          LIST: '[1,"b"]',
          OBJECT: '{"deep":{"er":1}}',
          EMPTY: '',
          MULTI: 'a\nb',
          PORT: '3210',
        },
      },
    },
  ],
  [
    'values.config.js',
    { values: { env: expect.objectContaining({ YES: 'staging', MORE: '1', NO: 'false' }) } },
    { env: 'staging' },
  ],
  [
    'monorepo.config.js',
    {
      '@acme/api': { cwd: at('api'), mode: 'cluster', namespace: 'acme', env: { NODE_ENV: 'development' } },
      '@acme/dist': { cwd: at('dist'), script: at('dist/main.js'), env: { NODE_ENV: 'development' } },
      'one-off': {
        mode: 'fork',
        instances: 1,
        instancesGiven: false,
        namespace: 'default',
        env: { NODE_ENV: 'development' },
      },
    },
  ],
  [
    'sites.config.js',
    {
      spa: {
        script: serveScript(),
        cwd: FOLDER,
        env: {
          PM2_SERVE_PATH: './public',
          PM2_SERVE_PORT: '8081',
          PM2_SERVE_SPA: 'true',
          PM2_SERVE_HOMEPAGE: '/index.html',
        },
      },
      docs: {
        script: serveScript(),
        cwd: FOLDER,
        env: expect.objectContaining({ PM2_SERVE_PATH: './public', PM2_SERVE_PORT: '8082' }),
      },
    },
  ],
  [
    'bin-script.config.js',
    {
      next: {
        kind: 'node',
        script: at('bin/next'),
        args: ['start', '-p', '3000'],
        instances: 'max',
        mode: 'cluster',
        env: { NODE_ENV: 'production' },
      },
    },
  ],
  [
    'native.config.js',
    {
      native: {
        instances: '50%',
        rollbackWindowMs: 30_000,
        maxUnavailable: 1,
        logMaxFiles: 5,
        envFiles: ['.env', '.env.local'],
        secrets: { TOKEN: { command: 'echo secret' } },
      },
    },
  ],
];

describe('a config file of the fixtures', () => {
  test.each(MEANT)('%s describes the expected apps, without a warning', async (file, apps, wanted) => {
    const { specs, warnings } = await read(file, wanted);
    expect(specs.map(({ name }) => name)).toEqual(Object.keys(apps));
    for (const spec of specs) expect(spec, spec.name).toMatchObject(apps[spec.name]);
    for (const { name, env } of specs) expect(env, name).toEqual(apps[name].env ?? {});
    expect(warnings).toEqual([]);
  });

  test('a config file runs scripts of other languages under their interpreters', async () => {
    const { specs, warnings } = await read('languages.config.js');
    expect(Object.fromEntries(specs.map((spec) => [spec.name, spec]))).toMatchObject({
      py: { kind: 'exec', file: join(bin, 'python3'), execArgs: ['-u', at('job.py')] },
      'py-by-name': { kind: 'exec', file: join(bin, 'python3'), interpreterEnv: { PYTHONUNBUFFERED: '1' } },
      sh: { file: join(bin, 'bash'), execArgs: [at('task.sh'), 'now'] },
      bun: { kind: 'exec', file: join(bin, 'bun'), mode: 'fork', instances: 2 },
      binary: { kind: 'exec', file: at('bin/tool'), interpreter: 'none', execArgs: ['--fast'] },
    });
    expect(warnings).toEqual([expect.stringMatching(/"bun" runs in fork mode, .*only Node\.js/)]);
  });

  test('a config file in TypeScript is read if Node.js can run it; else the error names one that can', async () => {
    if (typeStrippingFlags(process.version) === null) {
      await expect(read('typed.config.ts')).rejects.toMatchObject({
        code: 'ERR_NCLUST_BAD_CONFIG',
        message: expect.stringContaining(`Node.js ${process.version} cannot run TypeScript`),
        hint: expect.stringContaining('22.18'),
      });
    } else {
      expect((await read('typed.config.ts')).specs).toMatchObject([{ name: 'typed', instances: 2 }]);
    }
  });

  test('a config file with append_env_to_name has names that end with the environment', async () => {
    const { specs } = await read('monorepo.config.js', { env: 'production', only: '@acme/api-production' });
    expect(specs.map(({ name }) => name)).toEqual(['@acme/api-production']);
  });

  test('a config file has its deployments returned unchanged', async () => {
    expect((await read('sites.config.js')).deploy).toEqual({
      production: { host: 'example.com' },
      staging: { host: ['a', 'b'] },
    });
    expect((await read('array.config.js')).deploy).toBeNull();
  });

  test('every config file of the fixtures has a test above', () => {
    const files = readdirSync(FOLDER).filter(
      (name) => /\.config\.|\.json5?$|\.yml$/.test(name) && name !== 'package.json',
    );
    const seen = [...MEANT.map(([file]) => file), 'languages.config.js', 'typed.config.ts'];
    expect(files.filter((name) => !seen.includes(name))).toEqual([]);
    expect(files.length).toBeGreaterThanOrEqual(25);
  });
});
