import { chmodSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSandbox } from '../../../helpers/sandbox.js';
import { changed } from './expected.js';

/**
 * @typedef {object} Facts
 * @property {string[]} argv
 * @property {string[]} execArgv
 * @property {string} cwd
 * @property {number} uid
 * @property {Record<string, string>} env
 */

/** @typedef {{ facts: Facts, listed: any, work: string }} Found */

const CODE =
  'console.log(JSON.stringify({ argv: process.argv.slice(2), execArgv: process.execArgv, cwd: ' +
  'process.cwd(), uid: process.getuid(), env: process.env })); process.send?.("ready"); setInterval(() => {}, 1e6);';

const ROOT = process.getuid?.() === 0;
const NODE = realpathSync(process.execPath);

/** Each row describes one app. All apps are in the same config file. */
const ROWS = [
  ...['script', 'exec', 'cmd', 'command'].map((word) => [
    `${word}`,
    { script: undefined, [word]: './runs-code.js' },
    ({ listed, work }) => expect(listed.pm2_env.pm_exec_path).toBe(join(work, 'runs-code.js')),
  ]),
  ['namespace', { namespace: 'shop' }, ({ listed }) => expect(listed.pm2_env.namespace).toBe('shop')],
  [
    'cwd',
    { cwd: './sub', script: '../runs-code.js' },
    ({ facts, listed, work }) =>
      expect([facts.cwd, listed.pm2_env.pm_cwd]).toEqual([join(work, 'sub'), join(work, 'sub')]),
  ],
  [
    'args as a string',
    { args: '--title "Hello world" -v' },
    ({ facts, listed }) =>
      expect([facts.argv, listed.pm2_env.args]).toEqual([
        ['--title', 'Hello world', '-v'],
        ['--title', 'Hello world', '-v'],
      ]),
  ],
  ['args as a list', { args: ['a b', 3] }, ({ facts }) => expect(facts.argv).toEqual(['a b', '3'])],
  ...['interpreter', 'exec_interpreter', 'execInterpreter'].map((word) => [
    word,
    { [word]: NODE },
    ({ listed }) => expect(listed.pm2_env.exec_interpreter).toBe(NODE),
  ]),
  ...['node_args', 'nodeArgs', 'interpreterArgs', 'interpreter_args'].map((word) => [
    word,
    { [word]: '--no-warnings --stack-size=900' },
    ({ facts, listed }) => {
      expect(facts.execArgv).toEqual(['--no-warnings', '--stack-size=900']);
      expect(listed.pm2_env.node_args).toEqual(['--no-warnings', '--stack-size=900']);
    },
  ]),
  [
    'instances',
    { instances: '1' },
    ({ listed, facts }) =>
      expect([listed.pm2_env.exec_mode, listed.pm2_env.instances, facts.env.NODE_APP_INSTANCE]).toEqual([
        'cluster_mode',
        1,
        '0',
      ]),
  ],
  [
    'exec_mode',
    { instances: 1, exec_mode: 'fork' },
    ({ listed }) => expect(listed.pm2_env.exec_mode).toBe('fork_mode'),
  ],
  ['execMode', { execMode: 'cluster_mode' }, ({ listed }) => expect(listed.pm2_env.exec_mode).toBe('cluster_mode')],
  [
    'env, env_<name>',
    { env: { A: 1, B: { c: [2] }, MODE: 'default' }, env_production: { MODE: 'production' } },
    ({ facts, listed }) => {
      expect(facts.env).toMatchObject({ A: '1', B: '{"c":[2]}', MODE: 'production' });
      expect(listed.pm2_env.env).toMatchObject({ A: 1, MODE: 'production' });
    },
  ],
  ...['out_file', 'out', 'output', 'out_log', 'outFile'].map((word) => [
    word,
    { [word]: `logs/${word}.log` },
    ({ facts, listed, work }) =>
      expect([facts.argv, listed.pm2_env.pm_out_log_path]).toEqual([[], join(work, `logs/${word}.log`)]),
  ]),
  ...['error_file', 'error', 'err', 'err_file', 'err_log', 'errorFile'].map((word) => [
    word,
    { [word]: `logs/${word}.err` },
    ({ listed, work }) => expect(listed.pm2_env.pm_err_log_path).toBe(join(work, `logs/${word}.err`)),
  ]),
  [
    'log_file',
    { log_file: 'logs/all.log' },
    ({ listed, work }) => expect(readFileSync(listed.pm2_env.pm_log_path, 'utf8')).toContain(`"cwd":"${work}"`),
  ],
  ['log: true', { log: true }, ({ listed }) => expect(listed.pm2_env.pm_log_path).toMatch(/\/logs\/[^/]+\.log$/)],
  [
    'log_type',
    { log_type: 'json' },
    ({ listed }) =>
      expect(JSON.parse(readFileSync(listed.pm2_env.pm_out_log_path, 'utf8'))).toMatchObject({
        type: 'out',
        app_name: listed.name,
        process_id: listed.pm_id,
      }),
  ],
  [
    'log_date_format',
    { log_date_format: '[at] YYYY' },
    ({ listed }) => expect(readFileSync(listed.pm2_env.pm_out_log_path, 'utf8')).toMatch(/^at 20\d\d: \{/),
  ],
  [
    'time',
    { time: true },
    ({ listed }) =>
      expect(readFileSync(listed.pm2_env.pm_out_log_path, 'utf8')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d: \{/),
  ],
  [
    'merge_logs',
    { instances: 1, merge_logs: true },
    ({ listed }) => expect(listed.pm2_env.pm_out_log_path).toMatch(/-out\.log$/),
  ],
  [
    'combine_logs',
    { instances: 1, combine_logs: false },
    ({ listed }) => expect(listed.pm2_env.pm_out_log_path).toMatch(new RegExp(`-out-${listed.pm_id}\\.log$`)),
  ],
  ...['pid_file', 'pid'].map((word) => [
    word,
    { [word]: `${word}.pid` },
    ({ listed, work }) =>
      expect([
        listed.pm2_env.pm_pid_path,
        Number(readFileSync(join(work, `${word}-${listed.pm_id}.pid`), 'utf8')),
      ]).toEqual([join(work, `${word}-${listed.pm_id}.pid`), listed.pid]),
  ]),
  [
    'watch',
    { watch: ['sub'], ignore_watch: ['*.tmp'], watch_delay: 700 },
    ({ listed }) => expect(listed.pm2_env).toMatchObject({ watch: ['sub'], ignore_watch: ['*.tmp'], watch_delay: 700 }),
  ],
  [
    'max_memory_restart',
    { max_memory_restart: '1G' },
    ({ listed }) => expect(listed.pm2_env.max_memory_restart).toBe(1024 ** 3),
  ],
  [
    'restart_delay, exp_backoff_restart_delay, min_uptime, max_restarts, stop_exit_codes',
    { restart_delay: 7, exp_backoff_restart_delay: 8, min_uptime: '150', max_restarts: 9, stop_exit_codes: [3, 4] },
    ({ listed }) =>
      expect(listed.pm2_env).toMatchObject({
        restart_delay: 7,
        exp_backoff_restart_delay: 8,
        min_uptime: 150,
        max_restarts: 9,
        stop_exit_codes: [3, 4],
      }),
  ],
  [
    'min_uptime in seconds, in camelCase',
    { minUptime: '1s', maxRestarts: 3, stopExitCodes: 5 },
    ({ listed }) => expect(listed.pm2_env).toMatchObject({ min_uptime: 1000, max_restarts: 3, stop_exit_codes: [5] }),
  ],
  ['autorestart', { autorestart: false }, ({ listed }) => expect(listed.pm2_env.autorestart).toBe(false)],
  [
    'kill_timeout, listen_timeout, wait_ready, shutdown_with_message, treekill',
    { kill_timeout: 1600, listen_timeout: 8000, wait_ready: true, shutdown_with_message: true, treekill: false },
    ({ listed }) =>
      expect(listed.pm2_env).toMatchObject({
        status: 'online',
        kill_timeout: 1600,
        listen_timeout: 8000,
        wait_ready: true,
        shutdown_with_message: true,
        treekill: false,
      }),
  ],
  ...['cron_restart', 'cron'].map((word) => [
    word,
    { [word]: '0 0 1 1 *' },
    ({ listed }) => expect(listed.pm2_env.cron_restart).toBe('0 0 1 1 *'),
  ]),
  ['cron_restart: 0', { cron_restart: 0 }, ({ listed }) => expect(listed.pm2_env).not.toHaveProperty('cron_restart')],
  [
    'instance_var',
    { instance_var: 'WORKER' },
    ({ facts }) => expect([facts.env.WORKER, facts.env.NODE_APP_INSTANCE]).toEqual(['0', undefined]),
  ],
  ['port, increment_var', { port: 9000, increment_var: 'PORT' }, ({ facts }) => expect(facts.env.PORT).toBe('9000')],
  [
    'source_map_support',
    { source_map_support: true },
    ({ facts }) => expect(facts.execArgv).toEqual(['--enable-source-maps']),
  ],
  [
    'disable_source_map_support',
    { source_map_support: true, disable_source_map_support: true },
    ({ facts }) => expect(facts.execArgv).toEqual([]),
  ],
  ...(ROOT
    ? ['uid', 'user'].map((word) => [
        word,
        { [word]: 'nobody', gid: 65534 },
        ({ facts, listed }) => expect([facts.uid, listed.pm2_env.username]).toEqual([65534, 'nobody']),
      ])
    : []),
];

const SILENT_WORDS = {
  vizion: false,
  pmx: false,
  automation: false,
  windowsHide: true,
  kill_retry_time: 100,
  username: 'me',
  post_update: ['npm install'],
  km_link: false,
};

let home;
let jlist;
let started;

beforeAll(async () => {
  home = openSandbox();
  for (const folder of [dirname(home.work), home.work]) chmodSync(folder, 0o755);
  mkdirSync(join(home.work, 'sub'));
  home.place('runs-code');
  const apps = ROWS.map(([, attributes], at) => ({
    name: `row-${at}`,
    script: './runs-code.js',
    ...('minUptime' in attributes ? {} : { min_uptime: 150 }),
    ...attributes,
  }));
  const others = [
    { name: 'unnamed', script: './runs-code.js', autostart: false, ...SILENT_WORDS },
    { script: './sub/derived.name.js', autostart: false },
  ];
  writeFileSync(join(home.work, 'sub/derived.name.js'), '');
  writeFileSync(
    join(home.work, 'ecosystem.config.js'),
    `module.exports = ${JSON.stringify({ apps: [...apps, ...others] })};`,
  );
  started = await home.nclust('start', 'ecosystem.config.js', '--env', 'production', {
    env: { CODE },
    timeoutMs: 120_000,
  });
  const tells = ({ pm2_env: env }) => readFileSync(env.pm_out_log_path, 'utf8').includes('}\n');
  jlist = await home.waitFor(
    'every app to print its facts',
    async () => {
      const all = (await home.nclust('jlist')).json();
      return all.every((one) => one.pid === 0 || tells(one)) && all;
    },
    { deadlineMs: 30_000 },
  );
}, 300_000);

afterAll(() => home.close());

test('a file with every attribute of PM2 starts without a warning', () => {
  expect(started).toMatchObject(
    changed(`Started ${ROWS.map((_, at) => `"row-${at}"`).join(', ')}, "unnamed", "derived.name".`),
  );
  expect(jlist.filter(({ pm2_env: env }) => env.status !== 'online').map(({ name }) => name)).toEqual([
    'unnamed',
    'derived.name',
  ]);
});

test.each(ROWS.map(([what, , check], at) => [what, at, check]))(
  'the attribute reaches the app and jlist: %s',
  (_what, at, check) => {
    const listed = jlist.find(({ name }) => name === `row-${at}`);
    const line = readFileSync(listed.pm2_env.pm_out_log_path, 'utf8').split('\n')[0];
    const text = listed.pm2_env.log_type === 'json' ? JSON.parse(line).message : line.slice(line.indexOf('{'));
    check({ facts: JSON.parse(text), listed, work: home.work });
  },
);

test('attributes without an effect are accepted, and a missing name is derived from the script', () => {
  expect(jlist.find(({ name }) => name === 'unnamed').pm2_env).toMatchObject({ status: 'stopped', username: 'me' });
  expect(jlist.find(({ name }) => name === 'derived.name').pm2_env.pm_exec_path).toBe(
    join(home.work, 'sub/derived.name.js'),
  );
});
