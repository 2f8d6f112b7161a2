/**
 * The most used commands come first.
 * @type {[heading: string, commands: string[]][]}
 */
export const HEADINGS = [
  ['Apps:', ['start', 'stop', 'restart', 'reload', 'rollback', 'delete', 'scale']],
  [
    'Status and diagnosis:',
    [
      'list',
      'monit',
      'web',
      'describe',
      'why',
      'events',
      'logs',
      'stack',
      'profile',
      'env',
      'doctor',
      'notify',
      'report',
    ],
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
 * The first headings of a command that takes options of an app. The options that users of PM2 use
 * most come first. Any other option of an app has its heading in its row.
 * @type {[heading: string, options: string[]][]}
 */
export const FIRST_OPTIONS = [
  [
    'Used most:',
    (
      '--name --instances --env --update-env --watch --cron --max-memory-restart --interpreter --node-args --cwd ' +
      '--no-autorestart --time --output --error --force --attach'
    ).split(' '),
  ],
  ['This command:', ['--only', '--no-wait', '--no-daemon', '--no-autostart', '--json', '--help']],
];

/** The headings after FIRST_OPTIONS, in this order. */
export const OTHER_HEADINGS = [
  'The program:',
  'Variables:',
  'When it exits:',
  'Starting and stopping:',
  'Reload and balancing:',
  'Watching files, and cron:',
  'Logs:',
  'Notifications:',
];
