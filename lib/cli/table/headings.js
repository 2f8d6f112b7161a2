/**
 * The most used commands come first.
 * @type {[heading: string, commands: string[]][]}
 */
export const HEADINGS = [
  ['Apps:', ['start', 'stop', 'restart', 'reload', 'delete', 'scale']],
  [
    'Status and diagnosis:',
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
 * The options that users of PM2 use most come first.
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
    'When it exits:',
    ['--max-restarts', '--restart-delay', '--exp-backoff-restart-delay', '--min-uptime', '--stop-exit-codes'],
  ],
  [
    'Starting and stopping:',
    ['--wait-ready', '--listen-timeout', '--kill-timeout', '--stop-signal', '--no-treekill', '--shutdown-with-message'],
  ],
  ['Reload and balancing:', ['--max-surge', '--max-unavailable', '--rollback-window', '--scheduling']],
  ['Watching files, and cron:', ['--no-watch', '--ignore-watch', '--ext', '--watch-delay', '--cron-restart']],
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
