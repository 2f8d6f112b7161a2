import { ATTACH, NO_WAIT, OF_FILE, TARGETS, TARGETS_OR_FILE, changeSummary, load } from './row.js';

/** @import { Command } from './row.js' */

/** @type {Command[]} */
export const APPS = [
  {
    name: 'start',
    words: '[script|command|config|name|id|namespace...]',
    brief: 'start a script, a command, a config file or a listed app',
    help: 'start a script, a program, a shell command or the apps of a config file, or start a listed app again',
    takesOptionsOf: 'start',
    takesArguments: true,
    options: [
      ['-f, --force', 'start it once more even if it is in the list'],
      ['-a, --update-env', 'give apps that are in the list the variables of this shell'],
      ['--no-wait', 'return at once, without waiting until it is up'],
      ['--no-daemon', 'stay in the foreground until it exits, as "nclust run" does'],
      ...OF_FILE,
      ATTACH,
    ],
    examples: [
      'nclust start app.js -i max                   one per CPU, sharing the port',
      'nclust start app.js --name api -- --port 3000',
      'nclust start "npm run serve" --name web      a shell command',
      'nclust start worker.py --interpreter python3.12',
      'nclust start api.js --time --log-max-size 50M',
      'nclust start api.js --watch src --ignore-watch "*.tmp"',
      'nclust start job.js --no-autorestart --cron "0 3 * * *"',
      'nclust start api.js -i 4 --max-memory-restart 500M',
      'nclust start                                 the config file in this folder',
      'nclust start ecosystem.config.js --env production --only api',
      'nclust start api                             again, with all its settings',
      'nclust start api -i 8                        again, with a changed setting',
    ],
    load: load(() => import('../../commands/apps/start.js'), 'start', changeSummary),
  },
  {
    name: 'stop',
    words: TARGETS_OR_FILE,
    help: 'stop apps, keep them in the list',
    options: [
      ['--watch', 'also stop watching their files, and do not watch them after the next start'],
      NO_WAIT,
      ...OF_FILE,
    ],
    examples: ['nclust stop api worker', 'nclust stop /^web-/', 'nclust stop all', 'nclust stop api --watch'],
    load: load(() => import('../../commands/apps/simple-changes.js'), 'stop', changeSummary),
  },
  {
    name: 'restart',
    words: TARGETS_OR_FILE,
    brief: 'stop apps and start them again',
    help: 'stop apps and start them again; options given here stay in effect',
    takesOptionsOf: 'restart',
    takesArguments: true,
    options: [
      ['-a, --update-env', 'give them the variables of this shell, not those they were started with'],
      ['--watch', 'start or stop watching their files'],
      NO_WAIT,
      ...OF_FILE,
      ATTACH,
    ],
    examples: [
      'nclust restart api',
      'PORT=4000 nclust restart api --update-env',
      'nclust restart api --log-type json',
      'nclust restart api --name web -- --port 4000',
    ],
    load: load(() => import('../../commands/apps/restart.js'), 'restart', changeSummary),
  },
  {
    name: 'reload',
    words: TARGETS_OR_FILE,
    brief: 'replace apps by new instances, without losing a request',
    help: 'replace apps by new instances, without losing a request; options given here stay in effect',
    takesOptionsOf: 'reload',
    takesArguments: true,
    options: [
      ['-a, --update-env', 'give them the variables of this shell, not those they were started with'],
      NO_WAIT,
      ...OF_FILE,
      ATTACH,
    ],
    examples: [
      'nclust reload api',
      'nclust reload all --max-surge 2',
      'nclust reload api --rollback-window 30s',
      'nclust reload api --interpreter "$(nvm which 24)"',
    ],
    load: load(() => import('../../commands/apps/restart.js'), 'reload', changeSummary),
  },
  {
    name: 'delete',
    aliases: ['del'],
    words: TARGETS_OR_FILE,
    help: 'stop apps and remove them from the list',
    options: [NO_WAIT, ...OF_FILE],
    examples: ['nclust delete api', 'nclust delete all'],
    load: load(() => import('../../commands/apps/simple-changes.js'), 'deleteApps', changeSummary),
  },
  {
    name: 'scale',
    words: '<app> <number>',
    help: 'change the number of instances: N, +N, -N, max or N%',
    options: [NO_WAIT],
    examples: ['nclust scale api 4', 'nclust scale api +2', 'nclust scale api -1', 'nclust scale api 50%'],
    load: load(() => import('../../commands/apps/simple-changes.js'), 'scale', changeSummary),
  },
  {
    name: 'reset',
    words: TARGETS,
    help: 'set the restart counters to zero',
    load: load(() => import('../../commands/apps/simple-changes.js'), 'reset', changeSummary),
  },
  {
    name: 'sendSignal',
    words: '<signal> <id|name|namespace|/pattern/|all...>',
    help: 'send a signal to processes',
    examples: ['nclust sendSignal SIGUSR2 api'],
    load: load(() => import('../../commands/apps/simple-changes.js'), 'sendSignal', changeSummary),
  },
];

/** @type {Command[]} */
export const MESSAGES = [
  {
    name: 'send',
    words: '<id|name> <line...>',
    help: 'send a line to the standard input of an app in fork mode',
    examples: ['nclust send 0 "reload plugins"'],
    load: load(() => import('../../commands/messages.js'), 'send', changeSummary),
  },
  {
    name: 'attach',
    words: '<id|name> [separator]',
    brief: 'type into an app and see its output, until Ctrl-C',
    help:
      'type into an app and see its output, until Ctrl-C; the separator is sent after each line instead of ' +
      'a newline',
    isText: true,
    examples: ['nclust attach 0'],
    load: load(() => import('../../commands/messages.js'), 'attach', 'renderAttached'),
  },
  {
    name: 'trigger',
    words: '<id|name|namespace|script|/pattern/|all> <action> [params]',
    brief: 'call an action of an app, and print what it returns',
    help: 'call an action that an app has registered, and print what it returns',
    examples: ['nclust trigger api "clear cache"', 'nclust trigger all log-level debug --json'],
    load: load(
      () => import('../../commands/messages.js'),
      'trigger',
      'renderReplies',
      ({ replies }) => replies,
    ),
  },
  {
    name: 'inspect',
    words: '<id|name>',
    brief: 'open a running Node.js process to a debugger',
    help: 'open a running Node.js process to a debugger; of several instances, the first',
    options: [['--stop', 'close it to debuggers again']],
    examples: ['nclust inspect api', 'nclust inspect 3 --stop'],
    load: load(() => import('../../commands/inspect.js'), 'inspect', 'renderInspected'),
  },
];
