/**
 * The groups of `nclust help`, with the most frequent first.
 * @type {[heading: string, commands: string[]][]}
 */
export const HEADINGS = [
  ['Apps:', ['start', 'stop', 'restart', 'reload', 'delete', 'scale']],
  [
    'What runs, and why not:',
    ['list', 'monit', 'web', 'describe', 'why', 'events', 'logs', 'stack', 'profile', 'env', 'doctor', 'report'],
  ],
  ['Config files:', ['init', 'validate', 'diff', 'apply', 'startOrReload', 'startOrRestart']],
  ['After a reboot, and from PM2:', ['startup', 'unstartup', 'save', 'resurrect', 'cleardump', 'import']],
  ['Containers, folders, hosts:', ['run', 'serve', 'deploy']],
  ['Talking to apps:', ['send', 'attach', 'trigger', 'sendSignal', 'inspect']],
  ['Log files and settings:', ['flush', 'reloadLogs', 'get', 'set', 'unset', 'multiset', 'conf']],
  ['For scripts:', ['jlist', 'prettylist', 'id', 'pid', 'reset', 'slist']],
  ['The manager:', ['ping', 'update', 'kill', 'daemon']],
  ['More:', ['examples', 'completion', 'help']],
];

/**
 * The groups of options that describe an app, with the most frequent of PM2's users first.
 * @type {[heading: string, options: string[]][]}
 */
export const OPTION_HEADINGS = [
  [
    'Used most:',
    [
      '--name',
      '--instances',
      '--env',
      '--update-env',
      '--watch',
      '--cron',
      '--max-memory-restart',
      '--interpreter',
      '--node-args',
      '--cwd',
      '--no-autorestart',
      '--time',
      '--output',
      '--error',
      '--force',
      '--attach',
    ],
  ],
  ['This command:', ['--only', '--no-wait', '--no-daemon', '--no-autostart', '--json', '--help']],
  [
    'The program:',
    [
      '--namespace',
      '--interpreter-args',
      '--execute-command',
      '--uid',
      '--gid',
      '--pid',
      '--source-map-support',
      '--disable-source-map-support',
      '--no-metrics',
      '--no-vizion',
    ],
  ],
  ['Variables:', ['--env-file', '--env-files', '--filter-env', '--increment-var', '--instance-var']],
  [
    'When it ends:',
    ['--max-restarts', '--restart-delay', '--exp-backoff-restart-delay', '--min-uptime', '--stop-exit-codes'],
  ],
  [
    'Getting up and stopping:',
    ['--wait-ready', '--listen-timeout', '--kill-timeout', '--stop-signal', '--no-treekill', '--shutdown-with-message'],
  ],
  ['Reload, and who gets a connection:', ['--max-surge', '--max-unavailable', '--rollback-window', '--scheduling']],
  ['Files that change, and the clock:', ['--no-watch', '--ignore-watch', '--ext', '--watch-delay', '--cron-restart']],
  [
    'Logs:',
    [
      '--log',
      '--merge-logs',
      '--no-merge-logs',
      '--disable-logs',
      '--no-disable-logs',
      '--log-type',
      '--log-date-format',
      '--log-max-size',
      '--log-interval',
      '--log-max-files',
      '--log-max-age',
      '--log-max-total',
      '--log-compress',
      '--log-overflow',
      '--log-rate-limit',
      '--log-ship',
    ],
  ],
];
