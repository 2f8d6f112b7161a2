import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../../../../lib/config/file/read.js';
import { words } from '../../../../../lib/app-spec/kinds.js';
import { ATTRIBUTES, listSpellings, takes } from '../../../../../lib/app-spec/table.js';
import { UNLIMITED } from '../../../../../lib/shared/units.js';

const NODE = { file: process.execPath, version: process.version };
const app = { name: 'app', script: 'app.js' };

let folder;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-config-'));
  write('app.js', '1');
  write('package.json', '{}');
  write('bin/tool', '#!/bin/sh\n', 0o755);
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(name, text, mode = 0o644) {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text, { mode });
}

/** Reads an object, as the library does, because it can hold undefined and functions. */
const read = (value, o) =>
  readConfig({ cwd: folder, env: { PATH: `${join(folder, 'bin')}:/usr/bin:/bin` }, node: NODE }, { value }, o);

const readApp = async (given) => {
  const { specs, warnings } = await read({ apps: [{ ...app, ...given }] });
  expect(specs).toHaveLength(1);
  return { spec: specs[0], warnings };
};

const shown = (value) => (value === undefined ? 'undefined' : JSON.stringify(value));

describe('a value that means "not set"', () => {
  const OPTIONAL = ATTRIBUTES.filter(({ name }) => name !== 'script');
  /** Attributes in which such a value has a meaning of its own. */
  const MEANING = {
    'instances ""': { instances: 'max', mode: 'cluster', instancesGiven: true },
    'autorestart false': { autorestart: false },
    'treekill false': { treekill: false },
    'metrics false': { metrics: false },
    'vizion false': { vizion: false },
    'autostart false': { autostart: false },
    'merge_logs false': { mergeLogs: false },
  };

  test.each(
    OPTIONAL.flatMap((row) => ['', false, null, undefined].map((value) => [row.name, shown(value), row, value])),
  )('%s: %s starts the app as if the attribute was absent', async (name, text, row, value) => {
    const { spec: plain } = await readApp({});
    for (const word of listSpellings(row)) {
      const { spec, warnings } = await readApp({ [word]: value });
      const expected = name === 'name' ? { ...plain, name: value === undefined || !value ? 'app' : value } : plain;
      expect(spec).toEqual({ ...expected, ...MEANING[`${name} ${text}`] });
      expect(warnings).toEqual([]);
    }
  });

  test.each(['', false, null, undefined])('script: %j is missing', async (script) => {
    await expect(read({ apps: [{ name: 'a', script }] })).rejects.toMatchObject({
      message: expect.stringContaining('apps[0].script is missing'),
    });
  });

  test.each(OPTIONAL.filter((row) => takes(row, 'array')).map((row) => [row.name, row]))(
    '%s: a list in which nothing is set starts the app as if the attribute was absent',
    async (name, row) => {
      const { spec: plain } = await readApp({});
      for (const nothing of [[undefined], [null], [], ...(row.read === words.read ? [] : [[''], [false, null]])])
        expect(await readApp({ [name]: nothing })).toEqual({ spec: plain, warnings: [] });
    },
  );

  test.each([
    [{ env_production: '' }, {}],
    [{ filter_env: [undefined, 'SECRET', ''] }, { filterEnv: ['SECRET'] }],
    [{ log_ship: [false, 'exec:cat'] }, { logShip: ['exec:cat'] }],
    [{ env_production: false }, {}],
    [{ env: { A: undefined, B: null, C: '' } }, { env: { C: '' } }],
    [{ args: ['--a', undefined, null, ''] }, { args: ['--a', ''] }],
    [{ node_args: [undefined, '--expose-gc'] }, { interpreterArgs: ['--expose-gc'] }],
    [{ watch: ['src', '', false] }, { watch: ['src'] }],
    [{ watch: [''] }, { watch: [] }],
    [{ ignore_watch: ['', null, 'tmp'] }, { ignoreWatch: ['tmp'] }],
    [{ stop_exit_codes: [0, '', null] }, { stopExitCodes: [0] }],
    [{ env_file: ['', '.env'] }, { envFiles: ['.env'] }],
    [{ ext: ['js', ''] }, { watchExtensions: ['js'] }],
    [{ interpreter: '', exec_interpreter: 'none', script: './bin/tool' }, { interpreter: 'none' }],
  ])('%j leaves out what is not set', async (given, fields) => {
    expect((await readApp(given)).spec).toMatchObject(fields);
  });

  test.each([
    [{ apps: [false, app, null, undefined, ''] }],
    [{ apps: [app], deploy: '' }],
    [{ apps: [app], deploy: false, static: false }],
    [{ apps: [app], static: [false] }],
  ])('%j holds one app', async (value) => {
    expect(await read(value)).toMatchObject({ specs: [{ name: 'app' }], warnings: [] });
  });
});

describe('one word too much', () => {
  test.each([
    [{ script: 'node', args: 'app.js', node_args: '--expose-gc' }, ['--expose-gc', 'app.js']],
    [{ script: 'node', args: ['app.js', '-x'], interpreter_args: ['--expose-gc'] }, ['--expose-gc', 'app.js', '-x']],
    [{ script: 'node', args: 'app.js', interpreter: 'none', nodeArgs: '--expose-gc' }, ['--expose-gc', 'app.js']],
  ])('%j: Node.js gets its options', async (given, execArgs) => {
    expect(await readApp(given)).toMatchObject({ spec: { kind: 'exec', execArgs }, warnings: [] });
  });

  test.each([
    [{ script: 'npm run start', node_args: ['--a=1'] }, 'apps[0].node_args has no effect, because "npm run start" is'],
    [
      { script: 'npm run start', node_args: ['--a=1'] },
      'use: the variable NODE_OPTIONS="--a=1" for its Node.js processes.',
    ],
    [
      { script: 'node app.js', interpreterArgs: '-x' },
      'apps[0].interpreterArgs has no effect, because "node app.js" is',
    ],
    [
      { script: 'node app.js', exec_interpreter: 'bash' },
      'apps[0].exec_interpreter has no effect, because "node app.js"',
    ],
    [{ script: 'tool', node_args: '--a=1' }, 'apps[0].node_args has no effect, because'],
    [{ script: './bin/tool', interpreter: 'none', interpreter_args: '-x' }, 'apps[0].interpreter_args has no effect'],
    [
      { script: 'app.js', interpreter: 'tool', node_args: '--a=1' },
      '"app": node_args goes to tool, which may not know',
    ],
  ])('%j starts, with a warning: %s', async (given, warning) => {
    write('bin/tool', '\x7fELF\0', 0o755);
    const { spec, warnings } = await readApp(given);
    expect(warnings).toEqual([expect.stringContaining(warning)]);
    if (warning.includes('has no effect')) expect(spec.execArgs.join(' ')).not.toMatch(/--a=1|-x/);
  });

  test('node_args beside npm go to npm, as in PM2, with a warning', async () => {
    write('bin/npm', '#!/usr/bin/env node\n', 0o755);
    expect(await readApp({ script: 'npm', args: 'start', node_args: '--expose-gc' })).toMatchObject({
      spec: { kind: 'node', interpreterArgs: ['--expose-gc'] },
      warnings: [expect.stringContaining('NODE_OPTIONS="--expose-gc"')],
    });
  });

  test.each([
    [{ script: 'node app.js', interpreter: 'none' }],
    [{ script: 'node app.js', node_args: '' }],
    [{ script: 'app.js', interpreter: 'bash', interpreter_args: '-e' }],
  ])('%j starts without a warning', async (given) => {
    expect((await readApp(given)).warnings).toEqual([]);
  });

  test.each([
    [{ helper: () => 1, apps: [app] }, 'helper is a function, which nclust ignores.'],
    [{ apps: [{ ...app, watch_options: { ignored: () => true } }] }, 'apps[0].watch_options.ignored is a function'],
    [{ apps: [app], shared: new Map() }, 'shared is a Map, which nclust ignores.'],
    [{ apps: [app], watch: true }, '"watch" has no effect beside "apps": write it into each app.'],
    [{ apps: [app], env_production: {} }, '"env_production" has no effect beside "apps"'],
    [{ apps: [app], maxMemoryRestart: '1G' }, '"maxMemoryRestart" has no effect beside "apps"'],
    [{ apps: [app], deploy: 'x' }, 'deploy is "x"; accepted: an object. It is ignored.'],
  ])('%j: the app starts, with a warning', async (value, warning) => {
    expect(await read(value)).toMatchObject({
      specs: [{ name: 'app' }],
      warnings: [expect.stringContaining(warning)],
    });
  });

  test('one app with a fault does not keep the others from starting, if the caller wants so', async () => {
    const value = { apps: [{ ...app, name: 'bad', kill_timeout: 'many' }, app, { name: 'gone', script: 'gone.js' }] };
    await expect(read(value)).rejects.toMatchObject({ code: 'ERR_NCLUST_BAD_CONFIG' });
    expect(await read(value, { isPartial: true })).toMatchObject({
      specs: [{ name: 'app' }],
      refused: { data: { faults: [{ keyPath: 'apps[0].kill_timeout' }, { keyPath: 'apps[2].script' }] } },
    });
    expect(await read({ apps: [app, app] }, { isPartial: true })).toMatchObject({
      specs: [{ name: 'app' }],
      refused: { data: { faults: [{ keyPath: 'apps[1].name' }] } },
    });
    const many = [...Array.from({ length: 11 }, (_, at) => ({ ...app, name: `a${at}` })), { ...app, env: new Map() }];
    expect(await read({ apps: many }, { isPartial: true })).toMatchObject({
      specs: { length: 11 },
      refused: { data: { faults: [{ keyPath: 'apps[11].env', found: 'is a Map' }] } },
    });
    const alone = { apps: [value.apps[0]] };
    await expect(read(alone, { isPartial: true })).rejects.toMatchObject({ code: 'ERR_NCLUST_BAD_CONFIG' });
  });
});

test('a bad variable of PM2 keeps no app from starting, and is reported once', async () => {
  const value = { apps: [app, { ...app, name: 'other' }] };
  const shell = { cwd: folder, env: { PM2_KILL_TIMEOUT: 'abc' }, node: NODE };
  expect(await readConfig(shell, { value })).toMatchObject({
    specs: [{ killTimeoutMs: (await readApp({})).spec.killTimeoutMs }, {}],
    warnings: [expect.stringContaining('PM2_KILL_TIMEOUT is "abc"')],
  });
});

describe('an app that is a function or a Map', () => {
  const lost = { script: 'app.js', name: 'lost' };

  test.each([
    [(odd) => ({ apps: [app, odd] }), 'apps[1]'],
    [(odd) => [app, odd], '[1]'],
    [(odd) => ({ nclust: { apps: [odd, app] } }), 'nclust.apps[0]'],
    [(odd) => ({ pm2: [app, odd] }), 'pm2[1]'],
    [(odd) => ({ apps: [app], static: [odd] }), 'static[0]'],
  ])('%s: is a fault, and the other app starts', async (form, keyPath) => {
    for (const odd of [() => lost, new Map(Object.entries(lost))]) {
      await expect(read(form(odd))).rejects.toMatchObject({ code: 'ERR_NCLUST_BAD_CONFIG' });
      expect(await read(form(odd), { isPartial: true })).toMatchObject({
        specs: [{ name: 'app' }],
        warnings: [],
        refused: { data: { faults: [{ keyPath }] } },
      });
    }
  });

  test.each([
    [(odd) => ({ apps: odd }), 'apps'],
    [(odd) => ({ nclust: { apps: odd } }), 'nclust.apps'],
    [(odd) => ({ pm2: { apps: [app], static: odd } }), 'pm2.static'],
    [(odd) => ({ pm2: odd }), 'pm2'],
  ])('%s: the file is refused if it holds all apps', async (form, keyPath) => {
    for (const odd of [() => [lost], new Map()])
      await expect(read(form(odd), { isPartial: true })).rejects.toMatchObject({ data: { faults: [{ keyPath }] } });
  });
});

describe('a folder as script', () => {
  test.each([
    ['dist/', { 'dist/index.js': '1' }, 'dist/index.js', 'dist'],
    ['./dist', { 'dist/index.js': '1' }, 'dist/index.js', 'dist'],
    ['dist', { 'dist/index.js': '1' }, 'dist/index.js', 'dist'],
    ['dist/', { 'dist/package.json': '{"main":"main.js"}', 'dist/main.js': '1' }, 'dist/main.js', 'dist'],
    ['dist/', { 'dist/package.json': '{"main":"./out"}', 'dist/out.js': '1' }, 'dist/out.js', 'dist'],
    ['dist/', { 'dist/package.json': '{"main":"out"}', 'dist/out/index.js': '1' }, 'dist/out/index.js', 'dist'],
    ['dist/', { 'dist/package.json': '{"main":"no.js"}', 'dist/index.js': '1' }, 'dist/index.js', 'dist'],
    ['dist/', { 'dist/package.json': 'not JSON', 'dist/index.js': '1' }, 'dist/index.js', 'dist'],
    ['.', { 'index.js': '1' }, 'index.js', null],
    ['./', { 'index.js': '1' }, 'index.js', null],
    ['..', { 'index.js': '1' }, 'index.js', null, 'conf'],
    ['tool', { 'tool/index.js': '1' }, 'bin/tool', 'tool'],
  ])('%s with %j is %s', async (script, files, found, name, cwd) => {
    for (const [path, text] of Object.entries(files)) write(path, text);
    if (cwd) mkdirSync(join(folder, cwd));
    const { specs } = await read({ apps: [{ script, ...(cwd ? { cwd } : {}) }] });
    expect(specs[0].script).toBe(join(folder, found));
    if (name) expect(specs[0].name).toBe(name);
    else expect(specs[0].name).toMatch(/^(nclust-config-|.+)/);
  });

  test('a folder without a file to run is refused', async () => {
    mkdirSync(join(folder, 'empty'));
    await expect(read({ apps: [{ ...app, script: './empty' }] })).rejects.toMatchObject({
      message: expect.stringContaining('apps[0].script is "./empty"'),
    });
  });
});

test.each([
  [Infinity, UNLIMITED],
  ['Infinity', UNLIMITED],
  [Number.MAX_SAFE_INTEGER, UNLIMITED],
  ['10', 10],
])('max_restarts: %j is %j', async (given, maxRestarts) => {
  expect((await readApp({ max_restarts: given })).spec.maxRestarts).toBe(maxRestarts);
});

test.each(['kill_timeout', 'listen_timeout', 'min_uptime', 'restart_delay'])(
  '%s: Infinity is accepted',
  async (name) => {
    const { spec } = await readApp({ [name]: Infinity });
    expect(Object.values(spec)).toContain(2 ** 31 - 1);
  },
);

test.each(['0 0/6 * * *', '/10 * * * *', '0/30 * * * * *', '@daily', '0 3 * * MON'])(
  'cron_restart: %s',
  async (cron) => {
    expect((await readApp({ cron_restart: cron })).spec.cronRestart).toBe(cron);
  },
);

describe('~ is the home directory', () => {
  const inHome = (path) => `~/${relative(homedir(), path)}`;

  test.each([
    ['cwd', 'cwd'],
    ['out_file', 'outFile'],
    ['error_file', 'errorFile'],
    ['log_file', 'logFile'],
    ['pid_file', 'pidFile'],
    ['script', 'script'],
    ['interpreter', 'interpreter'],
    ['env_file', 'envFiles'],
    ['watch', 'watch'],
    ['ignore_watch', 'ignoreWatch'],
    ['secrets', 'secrets'],
  ])('~ in %s is the home directory', async (name, field) => {
    write('tool.js', '1');
    const at =
      { script: join(folder, 'tool.js'), interpreter: join(folder, 'bin/tool'), cwd: folder }[name] ??
      join(folder, 'x');
    const given = name === 'secrets' ? { A: inHome(at) } : inHome(at);
    const { spec } = await readApp({ [name]: given });
    const found = { secrets: { A: { file: at } }, env_file: [at], watch: [at], ignore_watch: [at] };
    expect(spec[field]).toEqual(found[name] ?? at);
  });
});
