/**
 * Many users of PM2 know these commands, options and attributes by heart. Each row names the file
 * that tests the effect, the output and the exit status. Paths are relative to test/e2e/long.
 */

/**
 * @typedef {{ words: string[], file: string, isElsewhere?: boolean }} CommandRow  `words`: name and
 *   aliases. `isElsewhere`: nclust does not have this command, and its error names a replacement.
 */

export const COMMAND_ROWS = [
  row('compat/processes.test.js', 'start'),
  row('compat/processes.test.js', 'stop'),
  row('compat/processes.test.js', 'restart'),
  row('compat/processes.test.js', 'reload'),
  row('compat/processes.test.js', 'delete', 'del'),
  row('compat/processes.test.js', 'scale'),
  row('compat/processes.test.js', 'startOrRestart'),
  row('compat/processes.test.js', 'startOrReload', 'startOrGracefulReload'),
  row('compat/processes.test.js', 'reset'),
  row('compat/processes.test.js', 'sendSignal'),
  row('compat/processes.test.js', 'pid'),
  row('compat/home.test.js', 'serve', 'expose'),
  row('compat/information.test.js', 'list', 'ls', 'l', 'ps', 'status'),
  row('compat/jlist.test.js', 'jlist'),
  row('compat/jlist.test.js', 'prettylist'),
  row('compat/information.test.js', 'describe', 'desc', 'info', 'show'),
  row('compat/information.test.js', 'env'),
  row('compat/information.test.js', 'logs', 'log'),
  row('compat/information.test.js', 'ping'),
  row('compat/information.test.js', 'monit', 'dashboard', 'dash'),
  row('compat/home.test.js', 'completion'),
  row('compat/home.test.js', 'flush'),
  row('compat/home.test.js', 'reloadLogs'),
  row('compat/home.test.js', 'save', 'dump'),
  row('compat/home.test.js', 'resurrect'),
  row('compat/home.test.js', 'startup'),
  row('compat/home.test.js', 'unstartup'),
  row('compat/home.test.js', 'kill'),
  row('compat/home.test.js', 'update', 'updatePM2'),
  row('compat/home.test.js', 'init', 'ecosystem'),
  row('deploy.test.js', 'deploy'),
  row('run.test.js', 'run'),
];

/**
 * @typedef {{ flags: string[], commands: string[], file: string }} OptionRow  `flags`: the
 *   spellings of the option. `commands`: the commands that accept it. Empty: the option comes
 *   before the command.
 */

export const OPTION_ROWS = [
  ...options(
    'compat/start-options.test.js',
    ['start'],
    [['-i', '--instances'], ['-x', '--execute-command'], ['--no-daemon'], ['--no-autostart']],
  ),
  ...options(
    'compat/start-options.test.js',
    ['start', 'restart', 'reload'],
    [
      ['-n', '--name'],
      ['--cwd'],
      ['--interpreter'],
      ['--interpreter-args'],
      ['--node-args'],
      ['-p', '--pid'],
      ['--uid'],
      ['--gid'],
      ['--namespace'],
      ['-o', '--output'],
      ['-e', '--error'],
      ['-l', '--log'],
      ['--merge-logs'],
      ['--log-type'],
      ['--log-date-format'],
      ['--time'],
      ['--disable-logs'],
      ['-a', '--update-env'],
      ['--filter-env'],
      ['--max-memory-restart'],
      ['--restart-delay'],
      ['--exp-backoff-restart-delay'],
      ['--max-restarts'],
      ['--stop-exit-codes'],
      ['--no-autorestart'],
      ['-k', '--kill-timeout'],
      ['--listen-timeout'],
      ['--wait-ready'],
      ['--shutdown-with-message'],
      ['--no-treekill'],
      ['-c', '--cron'],
      ['--cron-restart'],
    ],
  ),
  ...options(
    'compat/config-file.test.js',
    ['start', 'restart', 'reload'],
    [['--ignore-watch'], ['--watch-delay'], ['--ext'], ['--attach']],
  ),
  ...options('compat/config-file.test.js', ['start', 'restart', 'stop'], [['--watch']]),
  ...options('compat/config-file.test.js', ['start', 'restart', 'reload', 'stop', 'delete'], [['--only'], ['--env']]),
  ...options(
    'compat/processes.test.js',
    ['startOrRestart', 'startOrReload'],
    [['--only'], ['--env'], ['-a', '--update-env']],
  ),
  ...options(
    'compat/processes.test.js',
    ['start', 'restart', 'reload', 'stop', 'delete'],
    [['-f', '--force'], ['--parallel']],
  ),
  ...options('compat/config-file.test.js', [], [['-s', '--silent']]),
  ...options('compat/information.test.js', [], [['--no-color'], ['-v', '--version'], ['-h', '--help']]),
  ...options('compat/information.test.js', ['list'], [['--sort'], ['-m', '--mini-list']]),
  ...options('../habits.test.js', ['list'], [['--watch']]),
  ...options(
    'compat/information.test.js',
    ['logs'],
    [
      ['--lines'],
      ['--raw'],
      ['--out'],
      ['--err'],
      ['--json'],
      ['--format'],
      ['--timestamp'],
      ['--nostream'],
      ['--highlight'],
    ],
  ),
  ...options('compat/home.test.js', ['save'], [['-f', '--force']]),
  ...options('compat/home.test.js', ['startup', 'unstartup'], [['-u', '--user'], ['--hp'], ['--service-name']]),
  ...options('compat/home.test.js', ['startup'], [['--wait-ip']]),
  ...options(
    'compat/home.test.js',
    ['serve'],
    [['--port'], ['--spa'], ['--ftp'], ['--basic-auth-username'], ['--basic-auth-password'], ['--monitor']],
  ),
  ...options(
    'run.test.js',
    ['run'],
    [
      ['--raw'],
      ['--json'],
      ['--format'],
      ['--formatted'],
      ['--no-auto-exit'],
      ['--delay'],
      ['--web'],
      ['--only'],
      ['--env'],
    ],
  ),
];

/** Each row: the name, then aliases. Test: compat/attributes.test.js. @type {string[][]} */
export const ATTRIBUTE_ROWS = [
  ['script', 'exec', 'cmd', 'command'],
  ['name'],
  ['namespace'],
  ['cwd'],
  ['args'],
  ['interpreter', 'exec_interpreter'],
  ['node_args', 'interpreterArgs', 'interpreter_args'],
  ['instances'],
  ['exec_mode'],
  ['env'],
  ['out_file', 'out', 'output', 'out_log'],
  ['error_file', 'error', 'err', 'err_file', 'err_log'],
  ['log_file', 'log'],
  ['log_type'],
  ['log_date_format'],
  ['time'],
  ['merge_logs', 'combine_logs'],
  ['pid_file', 'pid'],
  ['watch'],
  ['ignore_watch'],
  ['watch_delay'],
  ['max_memory_restart'],
  ['restart_delay'],
  ['exp_backoff_restart_delay'],
  ['min_uptime'],
  ['max_restarts'],
  ['autorestart'],
  ['autostart'],
  ['stop_exit_codes'],
  ['kill_timeout'],
  ['treekill'],
  ['shutdown_with_message'],
  ['wait_ready'],
  ['listen_timeout'],
  ['cron_restart', 'cron'],
  ['instance_var'],
  ['uid', 'user'],
  ['gid'],
  ['source_map_support'],
  ['disable_source_map_support'],
];

function row(file, ...words) {
  return { words, file };
}

function options(file, commands, flags) {
  return flags.map((spellings) => ({ flags: spellings, commands, file }));
}
