import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { slowdown, waitFor } from './wait-for.js';

/**
 * Shapes of config files that users of PM2 write. nclust and PM2 run the same table: nclust in
 * test/e2e/long/config-files.test.js, PM2 in test/bench/config-files.js.
 * @typedef {object} Row
 * @property {string} shape
 * @property {string | object} config  The export of a .js file, as code or as an object; the text
 *   of another file. "ROW" stands for a name that is unique in the table.
 * @property {Record<string, Expected>} apps  By name.
 * @property {string} [file]  Default: ecosystem.config.js.
 * @property {Record<string, string>} [files]  Texts, or REPORT. Default: app.js.
 * @property {string[]} [flags]
 * @property {Record<string, string>} [env]  Variables of the shell.
 * @property {string} [from]  The folder of the shell, in the folder of the row. Default: that.
 * @property {Record<string, Expected> | null} [pm2]  Overrides `apps` for PM2. Null: PM2 fails.
 * @property {string} [why]  Text of from-pm2.md that names this difference.
 */

/**
 * Missing keys have the values of DEFAULTS. Other keys are compared only if they are present.
 * @typedef {Record<string, unknown>} Expected
 */
const DEFAULTS = {
  mode: 'fork',
  count: 1,
  argv: [],
  execArgv: [],
  cwd: '.',
  channel: true,
  asked: 'SIGINT',
  namespace: 'default',
};

const FIXTURES = fileURLToPath(new URL('../fixtures/config-files', import.meta.url));
const [REPORT, PYTHON] = ['report.js', 'report.py'];
const NPM = JSON.stringify({ name: 'row', scripts: { start: 'node app.js', prod: 'node app.js --prod' } });
const sh = (/** @type {string} */ line) => `#!/bin/sh\n${line}\n`;
/** A launcher in JavaScript, as npm installs them in node_modules/.bin. */
const LAUNCHER = "#!/usr/bin/env node\nrequire('child_process').spawn('node', ['app.js'], { stdio: 'inherit' });\n";
const CPUS = cpus().length;
/** A start that takes longer waits for min_uptime. */
const QUICK_MS = 8_000;

/** @type {Row[]} */
export const ROWS = [];

/**
 * @param {string} shape
 * @param {Row['config']} config
 * @param {Expected | Record<string, Expected>} [apps]  By name; without a key that begins with ROW, for ROW.
 * @param {Partial<Row>} [more]
 */
function row(shape, config, apps = {}, more = {}) {
  const isNamed = Object.keys(apps).some((key) => key.startsWith('ROW'));
  ROWS.push({ shape, config, apps: /** @type {Row['apps']} */ (isNamed ? apps : { ROW: apps }), ...more });
}

/**
 * @param {string} shape
 * @param {Record<string, unknown>} attributes
 * @param {Expected} [expected]
 * @param {Partial<Row>} [more]
 */
const app = (shape, attributes, expected, more) =>
  row(shape, { apps: [{ name: 'ROW', script: 'app.js', ...attributes }] }, expected, more);

const withNpm = { files: { 'app.js': REPORT, 'package.json': NPM } };
/** Only programs of Node.js use the channel. */
const noNode = { channel: undefined };
const numbered = { out: 'HOME/logs/ROW-out-ID.log', err: 'HOME/logs/ROW-error-ID.log' };

// The file.
app('a list of apps', {});
row('apps as an object', { apps: { name: 'ROW', script: 'app.js' } });
row('a list as the export', [{ name: 'ROW', script: './app.js' }]);
row('one app as the export', { name: 'ROW', script: './app.js' });
app('a .cjs file', {}, {}, { file: 'ecosystem.config.cjs' });
row(
  'JSON with a comment',
  '{ "apps": [{ "name": "ROW", /* server */ "script": "app.js" }] }',
  {},
  { file: 'process.json' },
);
row(
  'YAML',
  'apps:\n  - name: ROW\n    script: ./app.js\n    instances: 1\n    exec_mode: fork\n    env:\n      A: 1\n',
  { env: { A: '1' } },
  { file: 'process.yml' },
);
row(
  'a function',
  '() => ({ apps: [{ name: "ROW", script: "app.js" }] })',
  {},
  { pm2: null, why: 'a function, a promise or an ES module' },
);
row(
  'code that reads package.json',
  '((p) => ({ apps: [{ name: "ROW-" + p.name, script: p.main }] }))(require("./package.json"))',
  { 'ROW-web': {} },
  { files: { 'app.js': REPORT, 'package.json': '{ "name": "web", "main": "app.js" }' } },
);
row(
  'two apps with common settings',
  '((all) => ({ apps: [{ ...all, name: "ROW-a" }, { ...all, name: "ROW-b", args: "b" }] }))({ script: "app.js" })',
  { 'ROW-a': {}, 'ROW-b': { argv: ['b'] } },
);
row('an app without a name', { apps: [{ script: './ROW.js' }] }, {}, { files: { 'ROW.js': REPORT } });
row(
  'a condition in the list of apps',
  '{ apps: [{ name: "ROW", script: "app.js" }, process.env.NOT_SET ? {} : null].filter(Boolean) }',
);
row('a section for deploy', {
  apps: [{ name: 'ROW', script: 'app.js' }],
  deploy: {
    production: { user: 'node', host: 'h', ref: 'origin/main', repo: 'r', path: '/p', 'post-deploy': 'npm install' },
  },
});
row('attributes beside the apps', { name: 'x', watch: false, apps: [{ name: 'ROW', script: 'app.js' }] });
row('a function beside the apps', '{ helper: () => 1, apps: [{ name: "ROW", script: "app.js" }] }');

app('strict mode and a later export', {}, {}, { file: 'ROW.config.js' });
app('a .config.json file', {}, {}, { file: 'ecosystem.config.json' });
row(
  'an ES module',
  'export default { apps: [{ name: "ROW", script: "app.js" }] };',
  {},
  { file: 'ecosystem.config.mjs', pm2: null, why: 'a function, a promise or an ES module' },
);
row(
  'one app of two',
  {
    apps: [
      { name: 'ROW', script: 'app.js' },
      { name: 'ROW-b', script: 'app.js' },
    ],
  },
  {},
  {
    flags: ['--only', 'ROW'],
  },
);
app(
  'a name with a space',
  { name: 'ROW web server' },
  { 'ROW web server': { out: 'HOME/logs/ROW-web-server-out.log' } },
);
app(
  'a name with an underscore',
  { name: 'ROW_app' },
  { ROW_app: { out: 'HOME/logs/ROW-app-out.log', err: 'HOME/logs/ROW-app-error.log' } },
);
row('exec in place of script', { apps: [{ name: 'ROW', exec: 'app.js' }] });
row('cmd in place of script', { apps: [{ name: 'ROW', cmd: 'app.js' }] });

// Folders.
app('a script in a subfolder', { script: './src/app.js' }, {}, { files: { 'src/app.js': REPORT } });
app('cwd, and a script in it', { cwd: './src' }, { cwd: 'src' }, { files: { 'src/app.js': REPORT } });
app(
  'cwd without a dot, and ./script',
  { cwd: 'src', script: './app.js' },
  { cwd: 'src' },
  { files: { 'src/app.js': REPORT } },
);
row(
  'cwd: __dirname, from another folder',
  '{ apps: [{ name: "ROW", script: "app.js", cwd: __dirname }] }',
  {},
  { from: 'other', files: { 'app.js': REPORT, 'other/x': '' } },
);
row(
  'an absolute script',
  '{ apps: [{ name: "ROW", script: require("path").join(__dirname, "src", "app.js") }] }',
  {},
  { files: { 'src/app.js': REPORT } },
);
app(
  'no cwd, from another folder',
  {},
  { cwd: '.' },
  {
    from: 'other',
    files: { 'app.js': REPORT, 'other/x': '' },
    pm2: null,
    why: 'an app of a file without `cwd` runs in the current folder',
  },
);
row(
  'two packages of a monorepo',
  { apps: ['a', 'b'].map((name) => ({ name: `ROW-${name}`, cwd: `./packages/${name}`, script: 'index.js' })) },
  { 'ROW-a': { cwd: 'packages/a' }, 'ROW-b': { cwd: 'packages/b' } },
  { files: { 'packages/a/index.js': REPORT, 'packages/b/index.js': REPORT } },
);
app('a folder as script', { script: 'dist/' }, {}, { files: { 'dist/index.js': REPORT } });
app(
  'a folder with main',
  { script: './dist' },
  {},
  {
    files: { 'dist/package.json': '{ "main": "server.js" }', 'dist/server.js': REPORT },
  },
);

// Arguments.
app('args as a text', { args: '--port 3000 -v' }, { argv: ['--port', '3000', '-v'] });
app('args as a list', { args: ['--port', '3000', 'a b'] }, { argv: ['--port', '3000', 'a b'] });
app('args with quotes', { args: "--name 'a b'" }, { argv: ['--name', 'a b'] });
app('a number in args', { args: ['--port', 3000] }, { argv: ['--port', '3000'] });
app(
  'node_args as a text',
  { node_args: '--max-old-space-size=200 --no-warnings' },
  {
    execArgv: ['--max-old-space-size=200', '--no-warnings'],
  },
);
app('node_args as a list', { node_args: ['--max-old-space-size=200'] }, { execArgv: ['--max-old-space-size=200'] });
app('interpreter_args', { interpreter_args: '--no-warnings' }, { execArgv: ['--no-warnings'] });
app(
  'a module to preload',
  { node_args: '-r ./hook.js' },
  { execArgv: ['-r', './hook.js'], env: { HOOK: '1' } },
  {
    files: { 'app.js': REPORT, 'hook.js': 'process.env.HOOK = "1";' },
  },
);
app(
  'node_args in cluster mode',
  { node_args: '--no-warnings', instances: 2 },
  {
    mode: 'cluster',
    count: 2,
    execArgv: ['--no-warnings'],
  },
);

// Programs.
app('npm start', { script: 'npm', args: 'start' }, { channel: false }, withNpm);
app(
  'npm run with arguments',
  { script: 'npm', args: 'run prod -- --port 3000' },
  {
    argv: ['--prod', '--port', '3000'],
    channel: false,
  },
  withNpm,
);
app('npm as a shell command', { script: 'npm run prod' }, { argv: ['--prod'], channel: false }, withNpm);
app('npm with node_args', { script: 'npm', args: ['start'], node_args: '--no-warnings' }, { channel: false }, withNpm);
app(
  'yarn start',
  { script: 'yarn', args: 'start' },
  { channel: false },
  {
    files: { 'app.js': REPORT, 'bin/yarn': LAUNCHER },
  },
);
app(
  'yarn start without an interpreter',
  { script: 'yarn', args: 'start', interpreter: 'none' },
  { channel: false },
  {
    files: { 'app.js': REPORT, 'bin/yarn': LAUNCHER },
  },
);
app(
  'a launcher in node_modules/.bin',
  { script: './node_modules/.bin/tool', args: 'start' },
  { channel: false },
  {
    files: { 'app.js': REPORT, 'node_modules/.bin/tool': LAUNCHER },
  },
);
app('node as the script', { script: 'node', args: 'app.js --port 3000' }, { argv: ['--port', '3000'] });
app(
  'node as the script, with its options in args',
  { script: 'node', args: ['--no-warnings', 'app.js'] },
  {
    execArgv: ['--no-warnings'],
  },
);
app(
  'node as the script, with node_args',
  { script: 'node', args: 'app.js', node_args: '--no-warnings' },
  {
    execArgv: ['--no-warnings'],
  },
  { pm2: { ROW: { execArgv: [] } }, why: '`node_args` beside `script: "node"`' },
);
app('node in a shell command', { script: 'node app.js --port 3000' }, { argv: ['--port', '3000'] });
app('a shell command with node_args', { script: 'node app.js', node_args: '--no-warnings' });
app('a shell command without an interpreter', { script: 'node app.js', interpreter: 'none' });
app('interpreter: node', { interpreter: 'node' });
app('the path of an interpreter', { interpreter: process.execPath }, {});
app('exec_interpreter', { exec_interpreter: 'node' });
app(
  'an executable without an interpreter',
  { script: './run', interpreter: 'none', args: '--x' },
  { argv: ['--x'] },
  {
    files: { 'app.js': REPORT, run: sh('exec node app.js "$@"') },
  },
);
app(
  'a shell script',
  { script: './run.sh', args: '--x' },
  { argv: ['--x'] },
  {
    files: { 'app.js': REPORT, 'run.sh': sh('exec node app.js "$@"') },
  },
);
app(
  'a shell script with interpreter: bash',
  { script: 'run.sh', interpreter: 'bash' },
  {},
  {
    files: { 'app.js': REPORT, 'run.sh': sh('exec node app.js "$@"') },
  },
);
app(
  'bun as the interpreter',
  { interpreter: 'bun' },
  {},
  { files: { 'app.js': REPORT, 'bin/bun': sh('exec node "$@"') } },
);
app(
  'bun as the script',
  { script: 'bun', args: 'run app.js', interpreter: 'none' },
  {},
  {
    files: { 'app.js': REPORT, 'bin/bun': sh('shift; exec node "$@"') },
  },
);
app(
  'Python',
  { script: 'job.py', interpreter: 'python3', args: '-x 1' },
  { argv: ['-x', '1'], ...noNode },
  { files: { 'job.py': PYTHON } },
);
app('Python by its extension', { script: './job.py' }, noNode, { files: { 'job.py': PYTHON } });
app('python3 as the script', { script: 'python3', args: '-u job.py', interpreter: 'none' }, noNode, {
  files: { 'job.py': PYTHON },
});

app(
  'ts-node as the interpreter',
  { interpreter: './node_modules/.bin/ts-node', script: 'src/app.ts' },
  { execArgv: ['-r', './hook.js'] },
  {
    files: {
      'src/app.ts': REPORT,
      'node_modules/.bin/ts-node': sh('exec node -r ./hook.js "$@"'),
      'hook.js': 'require.extensions[".ts"] = require.extensions[".js"];',
    },
  },
);
app(
  'a program of a package',
  { script: './node_modules/next/bin/next', args: 'start -p 3000' },
  { argv: ['start', '-p', '3000'] },
  {
    files: { 'node_modules/next/bin/next': REPORT },
  },
);
app('bash as the script', { script: 'bash', args: ['-c', 'node app.js'] });
app(
  'sh as the script',
  { script: 'sh', args: 'run.sh', interpreter: 'none' },
  {},
  {
    files: { 'app.js': REPORT, 'run.sh': sh('exec node app.js') },
  },
);
app('another program', { script: 'java', args: '-jar app.jar', exec_interpreter: 'none' }, noNode, {
  files: { 'app.js': REPORT, 'bin/java': sh('exec node app.js') },
});
app(
  'a shell command with variables',
  { script: 'A=$HOME; node app.js $NODE_ENV', env: { NODE_ENV: 'test' } },
  { argv: ['test'] },
);

// Modes.
app('two instances', { instances: 2 }, { mode: 'cluster', count: 2, ...numbered });
app('cluster mode', { instances: 2, exec_mode: 'cluster' }, { mode: 'cluster', count: 2 });
app('cluster_mode', { instances: 1, exec_mode: 'cluster_mode' }, { mode: 'cluster' });
app('cluster mode without instances', { exec_mode: 'cluster' }, { mode: 'cluster' });
app('max', { instances: 'max', exec_mode: 'cluster' }, { mode: 'cluster', count: CPUS });
app('0 instances', { instances: 0 }, { mode: 'cluster', count: CPUS });
app('one instance as a text', { instances: '1' }, { mode: 'cluster' });
app('all processors but one', { instances: -1 }, { mode: 'cluster', count: Math.max(1, CPUS - 1) });
app('two instances in fork mode', { instances: 2, exec_mode: 'fork' }, { count: 2, ...numbered });
row(
  'instances from the shell',
  '{ apps: [{ name: "ROW", script: "app.js", instances: process.env.WORKERS || 1 }] }',
  {
    mode: 'cluster',
    count: 2,
  },
  { env: { WORKERS: '2' } },
);

// The environment.
app(
  'env',
  { env: { NODE_ENV: 'production', PORT: 3000, DEBUG: true } },
  {
    env: { NODE_ENV: 'production', PORT: '3000', DEBUG: 'true', NODE_APP_INSTANCE: '0' },
  },
);
app('an object in env', { env: { A: { b: [1] } } }, { env: { A: '{"b":[1]}' } });
app(
  'env_production, chosen',
  { env: { A: '1', B: '1' }, env_production: { A: '2' } },
  { env: { A: '2', B: '1' } },
  {
    flags: ['--env', 'production'],
  },
);
app('env_production, not chosen', { env: { A: '1' }, env_production: { A: '2' } }, { env: { A: '1' } });
row(
  'a variable of the shell, with a default',
  '{ apps: [{ name: "ROW", script: "app.js", env: { A: process.env.A || "x", B: process.env.B || "y" } }] }',
  {
    env: { A: 'shell', B: 'y' },
  },
  { env: { A: 'shell' } },
);
app('a variable of the shell', {}, { env: { A: 'shell' } }, { env: { A: 'shell' } });
app('env wins over the shell', { env: { A: 'file' } }, { env: { A: 'file' } }, { env: { A: 'shell' } });
app(
  'increment_var',
  { instances: 2, increment_var: 'PORT', env: { PORT: 3000 } },
  {
    mode: 'cluster',
    count: 2,
    env: { PORT: ['3000', '3001'], NODE_APP_INSTANCE: ['0', '1'] },
  },
);
app(
  'instance_var',
  { instances: 2, instance_var: 'WORKER' },
  { mode: 'cluster', count: 2, env: { WORKER: ['0', '1'], NODE_APP_INSTANCE: undefined } },
);
app(
  'filter_env',
  { filter_env: ['SECRET_'] },
  { env: { SECRET_A: undefined, B: '1' } },
  { env: { SECRET_A: '1', B: '1' } },
);
app('a namespace', { namespace: 'jobs' }, { namespace: 'jobs' });
row(
  'append_env_to_name',
  { apps: [{ name: 'ROW', script: 'app.js', append_env_to_name: true, env_test: { A: 1 } }] },
  {
    'ROW-test': { env: { A: '1' } },
  },
  { flags: ['--env', 'test'] },
);

// Logs.
app(
  'log files in the project',
  { out_file: './logs/out.log', error_file: 'logs/err.log' },
  { out: './logs/out.log', err: './logs/err.log' },
);
app('output and error', { output: './o.log', error: './e.log' }, { out: './o.log', err: './e.log' });
app('one log file', { log_file: './all.log' }, { log: './all.log', out: 'HOME/logs/ROW-out.log' });
app(
  '/dev/null as a log file',
  { out_file: '/dev/null', error_file: '/dev/null' },
  { out: '/dev/null', err: '/dev/null' },
);
app(
  'merge_logs',
  { instances: 2, merge_logs: true, out_file: './o.log' },
  { mode: 'cluster', count: 2, out: './o.log' },
);
app(
  'a log file of two instances',
  { instances: 2, out_file: './o.log' },
  { mode: 'cluster', count: 2, out: './o-ID.log' },
);
app('log_date_format', { log_date_format: 'YYYY' }, { out: 'HOME/logs/ROW-out.log', line: /^20\d\d: to stdout$/m });
app('time', { time: true }, { out: 'HOME/logs/ROW-out.log', line: /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d: to stdout$/m });
app(
  'time beside a format',
  { time: true, log_date_format: 'YYYY' },
  { out: 'HOME/logs/ROW-out.log', line: /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d: to stdout$/m },
);
app('NULL as a log file', { error_file: 'NULL' }, { err: '/dev/null' });
app('a pid file', { pid_file: './app.pid' }, { pid: './app-ID.pid' });
app('default log files', {}, { out: 'HOME/logs/ROW-out.log', err: 'HOME/logs/ROW-error.log' });

// Restarts, readiness and the end.
app('wait_ready', { wait_ready: true, listen_timeout: 10000, kill_timeout: 5000 });
app('wait_ready in cluster mode', { wait_ready: true, instances: 2 }, { mode: 'cluster', count: 2 });
app('cron_restart', { cron_restart: '0 3 * * *', autorestart: false });
app('a cron pattern of PM2', { cron_restart: '0 0/6 * * *' });
app('max_memory_restart', { max_memory_restart: '300M' });
app('max_memory_restart in bytes', { max_memory_restart: 524288000 });
app(
  'watch with what to ignore',
  { watch: ['src'], ignore_watch: ['node_modules', 'logs', '*.log'], watch_delay: 1000 },
  {},
  {
    files: { 'app.js': REPORT, 'src/x.js': '' },
  },
);
app('watch: false', { watch: false, ignore_watch: 'node_modules' });
app('limits of restarts', { max_restarts: 10, min_uptime: '1s', restart_delay: 4000, exp_backoff_restart_delay: 100 });
app('min_uptime of a server', { min_uptime: '10s', env: { LISTEN: '1' } }, { isQuick: true });
app(
  'min_uptime of a server behind npm',
  { script: 'npm', args: 'start', min_uptime: '10s', env: { LISTEN: '1' } },
  { channel: false, isQuick: true },
  withNpm,
);
app('times as texts', {
  min_uptime: '200',
  max_restarts: '3',
  kill_timeout: '3000',
  listen_timeout: '3000',
  restart_delay: '100',
});
row('max_restarts: Infinity', '{ apps: [{ name: "ROW", script: "app.js", max_restarts: Infinity }] }');
app('exit codes', { stop_exit_codes: [0], autorestart: true });
app('source maps', { source_map_support: true }, { execArgv: undefined });
app('what nclust ignores', {
  pmx: false,
  automation: false,
  vizion: false,
  windowsHide: true,
  post_update: ['npm install'],
});
app('treekill: false', { treekill: false });
app('shutdown_with_message', { shutdown_with_message: true }, { asked: 'shutdown' });
app(
  'shutdown_with_message in cluster mode',
  { shutdown_with_message: true, instances: 2 },
  { mode: 'cluster', count: 2, asked: 'shutdown' },
);
app(
  'an app that handles SIGINT and SIGTERM',
  { env: { HANDLES: 'SIGINT,SIGTERM' } },
  { asked: 'SIGTERM' },
  {
    pm2: { ROW: { asked: 'SIGINT' } },
    why: 'every app gets SIGINT',
  },
);
app(
  'an app that handles SIGTERM',
  { env: { HANDLES: 'SIGTERM' } },
  { asked: 'SIGTERM' },
  {
    pm2: { ROW: { asked: null } },
    why: 'every app gets SIGINT',
  },
);

// Settings that are not set.
row(
  'settings from variables that are not set',
  `{ apps: [{ name: "ROW", script: "app.js", cwd: process.env.NOT_SET || "", interpreter: "", namespace: "",
    max_memory_restart: process.env.NOT_SET || "", max_restarts: process.env.NOT_SET, cron_restart: false, args: "",
    node_args: [], error_file: "", log_date_format: "", watch: "", ignore_watch: "", uid: undefined, env: null }] }`,
);
row(
  'numbers from variables that are not set',
  `{ apps: [{ name: "ROW", script: "app.js", port: process.env.NOT_SET, kill_timeout: "", min_uptime: null,
    listen_timeout: "" }] }`,
);
app('instances: an empty text', { instances: '' }, { mode: 'cluster', count: CPUS });

/**
 * @typedef {object} Manager
 * @property {string} home
 * @property {string} work  An empty folder.
 * @property {(words: string[], o: { cwd: string, env: Record<string, string | undefined> }) =>
 *   Promise<{ exitStatus: number | null, stdout: string, stderr: string }>} run
 * @property {number} atOnce  Commands that may run at a time.
 */

/**
 * @typedef {object} Observed
 * @property {Row} row
 * @property {string} name  Replaces ROW.
 * @property {string} failure  The output of `start` if it failed.
 * @property {Record<string, Record<string, any>>} found  By name of the app, with ROW.
 */

/**
 * Starts every row, stops all apps, and returns what they reported.
 * @param {Manager} manager
 * @returns {Promise<Observed[]>}
 */
export async function observe({ home, work, run, atOnce }) {
  const started = ROWS.map((given, at) => ({
    given,
    name: `r${at}`,
    folder: join(work, `r${at}`),
    failure: '',
    tookMs: 0,
  }));
  const waiting = [...started];
  const startNext = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) Object.assign(next, await startRow(next, run));
  };
  await Promise.all(Array.from({ length: atOnce }, startNext));
  const { stdout } = await run(['jlist'], { cwd: work, env: {} });
  /** @type {any[]} */
  const list = JSON.parse(stdout.slice(stdout.indexOf('[{')));
  // The comparison shows a report that does not come.
  for (const { name, folder } of started) {
    const count = list.filter((slot) => isOf(name, slot.name)).length;
    await waitFor(`${count} reports in ${folder}`, () => reportsIn(folder).length >= count).catch(() => {});
  }
  await run(['stop', 'all'], { cwd: work, env: {} });
  return started.map(({ given, name, folder, failure, tookMs }) => {
    const slots = list.filter((slot) => isOf(name, slot.name));
    return { row: given, name, failure, found: foundIn(slots, reportsIn(folder), { home, folder, name, tookMs }) };
  });
}

/**
 * @param {string} name  Of the row.
 * @param {string} app
 */
function isOf(name, app) {
  return app.startsWith(name) && !/\d/.test(app[name.length] ?? '');
}

/**
 * @param {{ given: Row, name: string, folder: string }} o
 * @param {Manager['run']} run
 */
async function startRow({ given, name, folder }, run) {
  const {
    config,
    file = 'ecosystem.config.js',
    files = { 'app.js': REPORT },
    flags = [],
    env = {},
    from = '.',
  } = given;
  const text = typeof config === 'string' ? config : JSON.stringify(config);
  const all = { ...files, [file]: /\.c?js$/.test(file) ? `module.exports = ${text};\n` : text };
  const own = (/** @type {string} */ words) => words.replaceAll('ROW', name);
  for (const [path, content] of Object.entries(all)) {
    const to = join(folder, own(path));
    mkdirSync(dirname(to), { recursive: true });
    if ([REPORT, PYTHON].includes(content)) cpSync(join(FIXTURES, content), to);
    else writeFileSync(to, own(content), { mode: 0o755 });
  }
  const PATH = `${join(folder, 'bin')}:${process.env.PATH}`;
  const startedMono = performance.now();
  const done = await run(['start', join(folder, own(file)), ...flags.map(own)], {
    cwd: join(folder, from),
    env: { ...env, PATH },
  });
  return {
    failure: done.exitStatus === 0 ? '' : `${done.stdout}${done.stderr}`,
    tookMs: performance.now() - startedMono,
  };
}

/** @param {string} folder */
function reportsIn(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /report-\d+\.json$/.test(path))
    .map((path) => JSON.parse(readFileSync(join(folder, path), 'utf8')));
}

/**
 * @param {any[]} slots  From `jlist`, which has one format in both managers.
 * @param {any[]} reports
 * @param {{ home: string, folder: string, name: string, tookMs: number }} o
 * @returns {Observed['found']}
 */
function foundIn(slots, reports, { home, folder, name: row, tookMs }) {
  return Object.fromEntries(
    [...new Set(slots.map(({ name }) => name))].map((name) => {
      const own = slots.filter((slot) => slot.name === name).map(({ pm2_env }) => pm2_env);
      const [{ pm_id: id, exec_mode: mode, namespace, ...paths }] = own;
      const said = reports
        .filter(({ env }) => env.name === name)
        .sort((a, b) => Number(a.env.pm_id) - Number(b.env.pm_id));
      const path = (/** @type {string | undefined} */ file) =>
        file
          ?.replace(folder, '.')
          .replace(home, 'HOME')
          .replace(RegExp(`-${id}(?=\\.(log|pid)$)`), '-ID')
          .replace(`/${row}`, '/ROW');
      return [
        name.replace(row, 'ROW'),
        {
          mode: mode.replace('_mode', ''),
          count: said.length,
          namespace,
          argv: same(said, ({ argv }) => argv),
          execArgv: same(said, ({ execArgv }) => execArgv),
          cwd: same(said, ({ cwd }) => (cwd === folder ? '.' : cwd.replace(`${folder}/`, ''))),
          channel: same(said, ({ channel }) => channel),
          asked: same(said, ({ asked }) => asked),
          env: (/** @type {string} */ key) => same(said, ({ env }) => env[key]),
          out: path(paths.pm_out_log_path),
          err: path(paths.pm_err_log_path),
          log: path(paths.pm_log_path),
          pid: path(paths.pm_pid_path),
          line: existsSync(paths.pm_out_log_path) ? readFileSync(paths.pm_out_log_path, 'utf8') : '',
          isQuick: tookMs < QUICK_MS * slowdown(),
        },
      ];
    }),
  );
}

/**
 * @param {any[]} reports
 * @param {(report: any) => unknown} pick
 * @returns {unknown}  The value of all instances, or a list if they differ.
 */
function same(reports, pick) {
  const values = [...new Map(reports.map((report) => [JSON.stringify(pick(report)), pick(report)])).values()];
  return values.length === 1 ? values[0] : values;
}

/**
 * @param {Observed} observed
 * @param {Record<string, Expected> | null} apps  Null: it fails.
 * @returns {string[]}  Differences.
 */
export function compare({ failure, found }, apps) {
  if (apps === null) return failure === '' ? ['it starts'] : [];
  if (failure !== '') return [failure];
  const names = Object.keys(found).sort().join();
  if (names !== Object.keys(apps).sort().join()) return [`the apps are ${names}`];
  return Object.entries(apps).flatMap(([name, more]) =>
    Object.entries({ ...DEFAULTS, ...more }).flatMap(([key, expected]) => {
      const real = found[name][key];
      if (key === 'env')
        return Object.entries(/** @type {object} */ (expected)).flatMap(([word, value]) =>
          differ(`${name}: ${word}`, real(word), value),
        );
      if (expected instanceof RegExp) return expected.test(real) ? [] : [`${name}: ${key} is ${real}`];
      return expected === undefined ? [] : differ(`${name}: ${key}`, real, expected);
    }),
  );
}

/**
 * @param {string} what
 * @param {unknown} real
 * @param {unknown} expected
 */
function differ(what, real, expected) {
  const [found, wanted] = [real, expected].map((value) => JSON.stringify(value) ?? 'not set');
  return found === wanted ? [] : [`${what} is ${found} instead of ${wanted}`];
}
