import { JSON_OPTION, NO_WAIT, changeSummary, fileArgument, load, loadSetting } from './row.js';

/** @import { Command } from './row.js' */

/** Commands about the home: its settings, its list, its manager. @type {Command[]} */
export const HOME = [
  {
    name: 'set',
    words: '<key> <value>',
    help: 'change a setting of the whole home',
    options: [JSON_OPTION],
    examples: ['nclust set logs.max_size 50M', 'nclust set logs.max_total 10G'],
    load: loadSetting(
      () => import('../../commands/settings.js'),
      'set',
      async () => () => '',
    ),
  },
  {
    name: 'get',
    words: '[key]',
    help: 'print a setting, or all of them',
    options: [JSON_OPTION],
    load: loadSetting(
      () => import('../../commands/settings.js'),
      'get',
      async () => (await import('../../commands/settings.js')).renderSettings,
    ),
  },
  {
    name: 'unset',
    words: '<key>',
    help: 'go back to the default of a setting',
    options: [JSON_OPTION],
    load: loadSetting(
      () => import('../../commands/settings.js'),
      'unset',
      async () => () => '',
    ),
  },
  {
    name: 'conf',
    words: '[key] [value]',
    help: 'the same as get, or with a value as set',
    options: [JSON_OPTION],
    load: loadSetting(
      () => import('../../commands/settings.js'),
      'conf',
      async () => (await import('../../commands/settings.js')).renderSettings,
    ),
  },
  {
    name: 'config',
    words: '<key> [value]',
    help: 'the same as conf',
    isHidden: true,
    options: [JSON_OPTION],
    load: loadSetting(
      () => import('../../commands/settings.js'),
      'conf',
      async () => (await import('../../commands/settings.js')).renderSettings,
    ),
  },
  {
    name: 'multiset',
    words: '<pairs>',
    brief: 'change several settings at once',
    help: 'change several settings, given as "key value key value"',
    options: [JSON_OPTION],
    examples: ['nclust multiset "logs.max_size 50M logs.max_files 5"'],
    load: loadSetting(
      () => import('../../commands/settings.js'),
      'multiset',
      async () => () => '',
    ),
  },
  {
    name: 'save',
    aliases: ['dump'],
    help: 'write the list to a file that resurrect reads',
    options: [['-f, --force', 'also when the list is empty'], JSON_OPTION],
    load: load(() => import('../../commands/apps/saved-list.js'), 'save', fileArgument),
  },
  {
    name: 'resurrect',
    help: 'start what was saved and is not in the list',
    options: [NO_WAIT, JSON_OPTION],
    load: load(() => import('../../commands/apps/saved-list.js'), 'resurrect', changeSummary),
  },
  {
    name: 'ping',
    help: 'ask whether the manager answers',
    options: [JSON_OPTION],
    load: async () => {
      const { ping, renderPing } = await import('../../commands/manager.js');
      return { run: ping, render: renderPing, json: ({ hello }) => hello };
    },
  },
  {
    name: 'update',
    aliases: ['updatePM2'],
    brief: 'replace the manager by this version, without interruption',
    help: 'replace the running manager by the version of this command, without an interruption',
    options: [NO_WAIT, JSON_OPTION],
    examples: ['npm install -g nclust@latest && nclust update'],
    load: load(
      () => import('../../commands/manager.js'),
      'update',
      async () => () => '',
    ),
  },
  {
    name: 'kill',
    help: 'stop every app, then the manager',
    options: [JSON_OPTION],
    load: load(
      () => import('../../client/end-manager.js'),
      'kill',
      async () => () => '',
    ),
  },
];

/** @type {[string, string][]} */
const PLACE = [
  ['-u, --user <user>', 'whose manager (default: this user)'],
  ['--hp <folder>', 'home directory of that user; the home of nclust is .nclust in it'],
  ['--home <folder>', 'the home of nclust itself, where it is another one'],
  ['--service-name <name>', 'name of the service (default: nclust-<user>)'],
  ['--user-unit', "a service of the user's own, which needs no root"],
];

/** @type {[string, string][]} */
const SHOW = [
  ['--print', 'show the files and commands, and do nothing'],
  ['--dry-run', 'the same as --print'],
  JSON_OPTION,
];

/** Commands about boot, and about a migration from PM2. @type {Command[]} */
export const BOOT = [
  {
    name: 'startup',
    words: '[platform]',
    brief: 'start the manager and the apps when the machine boots',
    help: 'start the manager and what should run when the machine boots',
    options: [...PLACE, ['--wait-ip', 'not before the network has an address'], ...SHOW],
    examples: [
      'nclust startup',
      'nclust startup systemd --user-unit',
      'nclust startup --print',
      'nclust startup systemd -u deploy --hp /home/deploy',
    ],
    load: load(
      () => import('../../commands/startup.js'),
      'startup',
      async () => (await import('../../commands/startup.js')).renderStartup,
    ),
  },
  {
    name: 'unstartup',
    words: '[platform]',
    help: 'take that back; what runs goes on',
    options: [...PLACE, ...SHOW],
    load: load(
      () => import('../../commands/startup.js'),
      'unstartup',
      async () => (await import('../../commands/startup.js')).renderStartup,
    ),
  },
  {
    name: 'daemon',
    brief: 'run the manager in the foreground, for supervisors',
    help: 'run the manager in the foreground, for supervisors; Ctrl-C ends it and its apps, SIGHUP reloads them',
    options: [JSON_OPTION],
    load: load(
      () => import('../../commands/daemon.js'),
      'daemon',
      async () => () => '',
    ),
  },
  {
    name: 'cleardump',
    help: 'save an empty list: resurrect brings nothing back',
    options: [JSON_OPTION],
    load: load(() => import('../../commands/apps/saved-list.js'), 'cleardump', fileArgument),
  },
  {
    name: 'import',
    words: '<pm2> [file]',
    brief: 'take over the apps of PM2, which is left alone',
    help: 'take over what PM2 has saved, or with --live what it runs; PM2 is left alone',
    options: [
      ['--live', 'what "pm2 jlist" lists, in place of the saved list'],
      ['--dry-run', 'show what would be started, and do nothing'],
      NO_WAIT,
      JSON_OPTION,
    ],
    examples: [
      'nclust import pm2 --dry-run',
      'nclust import pm2 /home/deploy/.pm2/dump.pm2',
      'nclust import pm2 --live',
    ],
    load: load(
      () => import('../../commands/import.js'),
      'importList',
      async () => (await import('../../commands/import.js')).renderImported,
    ),
  },
];

/** Commands of PM2 that nclust does not have, with their replacements. */
export const ELSEWHERE = /** @type {const} */ ({
  logrotate:
    'Log files rotate by themselves: "nclust get" shows the limits, "nclust set logs.max_size 50M" changes ' +
    'them. For logrotate itself, see docs/logs.md.',
  install:
    'There are no modules. Log rotation and metrics are built in; a program that watches others is an app ' +
    'like any other: nclust start',
  uninstall: 'There are no modules; an app is removed with: nclust delete <app>',
  package: 'There are no modules to make a package of.',
  publish: 'There are no modules to publish.',
  deepUpdate: 'npm install -g nclust@latest && nclust update',
  pull: 'Use "nclust deploy", or: git pull && nclust reload <app>',
  forward: 'Use "nclust deploy", or: git checkout <commit> && nclust reload <app>',
  backward: 'Use "nclust deploy <environment> revert 1", or: git checkout <commit> && nclust reload <app>',
  create: 'nclust init writes a configuration file to begin with.',
  autoinstall: 'nclust startup starts the apps at boot.',
  imonit: 'nclust monit shows what runs, with its logs.',
  link: 'There is no vendor behind nclust: nothing leaves this machine.',
  unlink: 'There is no vendor behind nclust: nothing leaves this machine.',
  monitor: 'There is no vendor behind nclust: nothing leaves this machine.',
  unmonitor: 'There is no vendor behind nclust: nothing leaves this machine.',
  open: 'There is no vendor behind nclust: nothing leaves this machine.',
  plus: 'There is no vendor behind nclust: nothing leaves this machine.',
  register: 'There is no vendor behind nclust: nothing leaves this machine.',
  login: 'There is no vendor behind nclust: nothing leaves this machine.',
  logout: 'There is no vendor behind nclust: nothing leaves this machine.',
  'install-otel': 'Preload your OpenTelemetry set-up: --node-args="--require ./tracing.js"',
  'uninstall-otel': 'Leave the preloaded OpenTelemetry set-up out of --node-args.',
  'module:install': 'There are no modules. Log rotation and metrics are built in.',
  'module:update': 'There are no modules. Log rotation and metrics are built in.',
  'module:uninstall': 'There are no modules. Log rotation and metrics are built in.',
  'module:generate': 'There are no modules. Log rotation and metrics are built in.',
  'module:publish': 'There are no modules. Log rotation and metrics are built in.',
  'profile:cpu': 'nclust profile <app> --cpu 10s profiles a process of an app.',
  'profile:mem': 'nclust profile <app> --heap takes the heap of a process of an app.',
});

/**
 * A row for each command of ELSEWHERE. It names the replacement. The help does not list these.
 * @type {Command[]}
 */
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
