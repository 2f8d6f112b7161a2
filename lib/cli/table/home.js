import { NO_WAIT, changeSummary, fileArgument, isNotDryRun, load, noText } from './row.js';

/** @import { Command } from './row.js' */

const settingsJson = (/** @type {any} */ { settings }) => settings;

/** @type {Command[]} */
export const HOME = [
  {
    name: 'set',
    words: '<key> <value>',
    help: 'change a setting that applies to the whole home',
    examples: ['nclust set logs.max_size 50M', 'nclust set logs.max_total 10G'],
    load: load(() => import('../../commands/settings.js'), 'set', noText, settingsJson),
  },
  {
    name: 'get',
    words: '[key]',
    help: 'print a setting, or all of them',
    load: load(() => import('../../commands/settings.js'), 'get', 'renderSettings', settingsJson),
  },
  {
    name: 'unset',
    words: '<key>',
    help: 'reset a setting to its default',
    load: load(() => import('../../commands/settings.js'), 'unset', noText, settingsJson),
  },
  {
    name: 'conf',
    words: '[key] [value]',
    help: 'the same as get; with a value, the same as set',
    load: load(() => import('../../commands/settings.js'), 'conf', 'renderSettings', settingsJson),
  },
  {
    name: 'config',
    words: '<key> [value]',
    help: 'the same as conf',
    isHidden: true,
    load: load(() => import('../../commands/settings.js'), 'conf', 'renderSettings', settingsJson),
  },
  {
    name: 'multiset',
    words: '<pairs>',
    brief: 'change several settings at once',
    help: 'change several settings, given as "key value key value"',
    examples: ['nclust multiset "logs.max_size 50M logs.max_files 5"'],
    load: load(() => import('../../commands/settings.js'), 'multiset', noText, settingsJson),
  },
  {
    name: 'notify',
    words: '<list|test> [names...]',
    brief: 'list or test the receivers of troubles',
    help: 'list the receivers that get a message when a trouble begins and ends, or send them a test message now',
    examples: ['nclust set notify.ops slack:file:/etc/nclust/slack', 'nclust notify test ops', 'nclust notify list'],
    load: load(() => import('../../commands/notify.js'), 'notify', 'renderNotify', 'notifyData'),
  },
  {
    name: 'save',
    aliases: ['dump'],
    help: 'write the list to a file that resurrect reads',
    options: [['-f, --force', 'also when the list is empty']],
    load: load(() => import('../../commands/apps/saved-list.js'), 'save', fileArgument),
  },
  {
    name: 'resurrect',
    help: 'start saved apps that are not in the list',
    options: [NO_WAIT],
    load: load(() => import('../../commands/apps/saved-list.js'), 'resurrect', changeSummary),
  },
  {
    name: 'ping',
    help: 'check whether the manager answers',
    load: load(
      () => import('../../commands/update.js'),
      'ping',
      'renderPing',
      ({ hello }) => hello,
    ),
  },
  {
    name: 'update',
    aliases: ['updatePM2'],
    brief: 'replace the manager by this version, without interruption',
    help: 'replace the running manager by the version of this command, without an interruption',
    options: [NO_WAIT],
    examples: ['npm install -g nclust@latest && nclust update'],
    load: load(() => import('../../commands/update.js'), 'update', noText),
  },
  {
    name: 'kill',
    help: 'stop every app, then the manager',
    load: load(() => import('../../commands/update.js'), 'kill', noText),
  },
];

/** @type {[string, string][]} */
const PLACE = [
  ['-u, --user <user>', 'user of the manager (default: this user)'],
  ['--hp <folder>', 'home directory of that user; the home of nclust is .nclust in it'],
  ['--home <folder>', 'home of nclust, if it is another folder'],
  ['--service-name <name>', 'name of the service (default: nclust-<user>)'],
  ['--user-unit', 'a service of this user, which does not need root'],
];

/** @type {[string, string][]} */
const SHOW = [
  ['--print', 'show the files and commands, and do nothing'],
  ['--dry-run', 'the same as --print'],
];

/** @type {Command[]} */
export const BOOT = [
  {
    name: 'startup',
    words: '[platform]',
    brief: 'start the manager and the apps when the machine boots',
    help: 'start the manager and its apps when the machine boots',
    options: [...PLACE, ['--wait-ip', 'wait until the network has an address'], ...SHOW],
    examples: [
      'nclust startup',
      'nclust startup systemd --user-unit',
      'nclust startup --print',
      'nclust startup systemd -u deploy --hp /home/deploy',
    ],
    load: load(() => import('../../commands/startup.js'), 'startup', 'renderStartup'),
  },
  {
    name: 'unstartup',
    words: '[platform]',
    help: 'undo startup; the manager and its apps keep running',
    options: [...PLACE, ...SHOW],
    load: load(() => import('../../commands/startup.js'), 'unstartup', 'renderStartup'),
  },
  {
    name: 'daemon',
    brief: 'run the manager in the foreground, for supervisors',
    help: 'run the manager in the foreground, for supervisors; Ctrl-C stops it and its apps, SIGHUP reloads the apps',
    load: load(() => import('../../commands/daemon.js'), 'daemon', noText),
  },
  {
    name: 'cleardump',
    help: 'save an empty list, so that resurrect starts nothing',
    load: load(() => import('../../commands/apps/saved-list.js'), 'cleardump', fileArgument),
  },
  {
    name: 'import',
    words: '<pm2> [file]',
    brief: 'take over the apps of PM2, without changing PM2',
    help: 'take over the apps that PM2 saved, or with --live those it runs; PM2 is not changed',
    options: [
      ['--live', 'take the apps that "pm2 jlist" prints, not the saved ones'],
      ['--dry-run', 'show which apps would start, and do nothing'],
      NO_WAIT,
    ],
    examples: [
      'nclust import pm2 --dry-run',
      'nclust import pm2 /home/deploy/.pm2/dump.pm2',
      'nclust import pm2 --live',
    ],
    load: async () => {
      const { importList, renderImported } = await import('../../commands/import.js');
      return {
        run: importList,
        render: renderImported,
        isAside: isNotDryRun,
        json: ({ isDryRun, apps, slots }) => (isDryRun ? apps : slots),
      };
    },
  },
];

/**
 * Commands of PM2 that nclust does not have, with their replacements.
 * @type {Record<string, string>}
 */
const HINTS = {
  logrotate:
    'nclust rotates log files itself: "nclust get" shows the limits, "nclust set logs.max_size 50M" changes ' +
    'them. To use logrotate, see docs/logs.md.',
  install:
    'nclust has no modules. Log rotation and metrics are built in. Start a program that watches others as an ' +
    'app: nclust start',
  uninstall: 'nclust has no modules. To remove an app: nclust delete <app>',
  package: 'nclust has no modules to package.',
  publish: 'nclust has no modules to publish.',
  deepUpdate: 'npm install -g nclust@latest && nclust update',
  pull: 'Use "nclust deploy", or: git pull && nclust reload <app>',
  forward: 'Use "nclust deploy", or: git checkout <commit> && nclust reload <app>',
  backward: 'Use "nclust deploy <environment> revert 1", or: git checkout <commit> && nclust reload <app>',
  create: 'nclust init writes a first configuration file.',
  autoinstall: 'nclust startup starts the apps at boot.',
  imonit: 'nclust monit shows what runs, with its logs.',
  'link unlink monitor unmonitor open plus register login logout':
    'There is no vendor behind nclust: nothing leaves this machine.',
  'install-otel': 'Preload your OpenTelemetry set-up: --node-args="--require ./tracing.js"',
  'uninstall-otel': 'Remove your OpenTelemetry set-up from --node-args.',
  'module:install module:update module:uninstall module:generate module:publish':
    'nclust has no modules. Log rotation and metrics are built in.',
  'profile:cpu': 'nclust profile <app> --cpu 10s profiles a process of an app.',
  'profile:mem': 'nclust profile <app> --heap writes a heap snapshot of a process of an app.',
};

export const ELSEWHERE = Object.fromEntries(
  Object.entries(HINTS).flatMap(([names, hint]) => names.split(' ').map((name) => [name, hint])),
);

/** @type {Command[]} */
export const PM2_ONLY = Object.entries(ELSEWHERE).map(([name, hint]) => ({
  name,
  words: '[words...]',
  help: `There is no such command in nclust. ${hint}`,
  isHidden: true,
  load: async () => {
    const { NclustError } = await import('../../shared/errors.js');
    const text = `"${name}" is a command of PM2 that nclust does not have.`;
    return { run: () => Promise.reject(new NclustError('ERR_NCLUST_ELSEWHERE', text, { hint })), render: () => '' };
  },
}));
