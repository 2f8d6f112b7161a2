import { JSON_OPTION, NO_WAIT, changeSummary, load } from './row.js';

/** @import { Command } from './row.js' */

/** Apps without a manager in the background. @type {Command[]} */
export const RUN = [
  {
    name: 'run',
    words: '[script|command|config...]',
    brief: 'run apps in the foreground until they end, as containers do',
    help: 'run apps in the foreground until they end, as a container does: output, signals and exit status are theirs',
    takesOptionsOf: 'start',
    options: [
      ['--only <names>', 'of a config file, only these apps'],
      ['--env <name>', 'of a config file, use env_<name>'],
      ['--raw', 'show the lines of the apps as they are (default)'],
      ['--json', 'as JSON, one record a line'],
      ['--format', 'as key=value'],
      ['--formatted', 'with the time and the name in front'],
      ['--no-auto-exit', 'stay when no app runs any more'],
      ['--delay <seconds>', 'wait before the start'],
      ['--web [port]', 'accepted and left out: there is no web interface'],
      ['--no-daemon', 'accepted: nothing is left in the background anyway'],
    ],
    examples: [
      'nclust run ecosystem.config.js --env production',
      'nclust run app.js -i max',
      'nclust run server.js --no-autorestart -- --port 80',
      'nclust-runtime app.js         the same; first process of a container',
    ],
    load: load(
      () => import('../../commands/apps/run.js'),
      'run',
      async () => () => '',
    ),
  },
];

/** Commands that publish. @type {Command[]} */
export const PUBLISH = [
  {
    name: 'serve',
    aliases: ['expose'],
    words: '[path] [port]',
    brief: 'serve the files of a folder',
    help: 'serve the files of a folder as an app (default: this folder, on port 8080)',
    takesOptionsOf: 'start',
    options: [
      ['--port <port>', 'port to listen on (default: 8080)'],
      ['--host <address>', 'address to listen on (default: 0.0.0.0, which is every IPv4 address)'],
      ['--spa', 'answer pages that have no file with the home page'],
      ['--ftp', 'list folders that have no home page'],
      ['--homepage <file>', 'the file a folder is represented by (default: index.html)'],
      ['--basic-auth-username <name>', 'ask for this name'],
      [
        '--basic-auth-password <password>',
        'and this password; others see it here while the command runs, PM2_SERVE_BASIC_AUTH_PASSWORD in the ' +
          'environment they do not',
      ],
      [
        '--cache <time>',
        'how long browsers keep a file that is neither a page nor has a hash in its name, or "none" to keep ' +
          'nothing (default: they ask each time)',
      ],
      ['--cors [origin]', 'let pages of other sites read the files: of this one, or of all'],
      ['--monitor [key]', 'not needed: there is no monitoring service behind nclust'],
      ['-f, --force', 'start it once more although it is in the list'],
      NO_WAIT,
      JSON_OPTION,
    ],
    examples: [
      'nclust serve ./dist 8080 --spa',
      'nclust serve --port 3000 --name site -i 2',
      'export PM2_SERVE_BASIC_AUTH_PASSWORD=...',
      'nclust serve ./reports 8080 --ftp --basic-auth-username ann',
    ],
    load: load(() => import('../../commands/serve.js'), 'serve', changeSummary),
  },
  {
    name: 'deploy',
    words: '<file|environment> [command...]',
    brief: 'bring a commit onto hosts over ssh, or go back',
    help:
      'bring a commit onto hosts over ssh: setup, update, revert [n], curr, prev, exec <command>, run ' +
      '<command>, list, unlock, or a ref (default: update)',
    options: [
      ['--parallel', 'all hosts at once'],
      ['-f, --force', 'accepted and not needed: what is not pushed is not looked at'],
      ['--json', 'print each line of a host as JSON'],
    ],
    examples: [
      'nclust deploy production setup',
      'nclust deploy production',
      'nclust deploy ecosystem.config.js production v1.4.2',
      'nclust deploy production revert 1',
      'nclust deploy production exec "nclust list"',
    ],
    load: load(
      () => import('../../commands/deploy.js'),
      'deploy',
      async () => (await import('../../commands/deploy.js')).renderDeployLine,
    ),
  },
];
