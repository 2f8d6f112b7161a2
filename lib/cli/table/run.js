import { NO_WAIT, OF_FILE, changeSummary, load, noText } from './row.js';

/** @import { Command } from './row.js' */

/** @type {Command[]} */
export const RUN = [
  {
    name: 'run',
    words: '[script|command|config...]',
    brief: 'run apps in the foreground until they exit, for containers',
    help: 'run apps in the foreground until they exit, for containers: passes on output, signals and exit status',
    takesOptionsOf: 'start',
    takesArguments: true,
    options: [
      ...OF_FILE,
      ['--raw', 'print the lines of the apps unchanged (default)'],
      ['--json', 'print one JSON record per line'],
      ['--format', 'print lines as key=value'],
      ['--formatted', 'print the time and the name before each line'],
      ['--no-auto-exit', 'do not exit when no app runs any more'],
      ['--delay <seconds>', 'wait before the start'],
      ['--web [port]', 'accepted, no effect: run has no web interface'],
      ['--no-daemon', 'accepted, no effect: run always stays in the foreground'],
    ],
    examples: [
      'nclust run ecosystem.config.js --env production',
      'nclust run app.js -i max',
      'nclust run server.js --no-autorestart -- --port 80',
      'nclust-runtime app.js         the same; first process of a container',
    ],
    load: load(() => import('../../commands/apps/run.js'), 'run', noText),
  },
];

/** @type {Command[]} */
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
      ['--spa', 'serve the home page for paths that have no file'],
      ['--ftp', 'list the files of a folder that has no home page'],
      ['--homepage <file>', 'the file to serve for a folder (default: index.html)'],
      ['--basic-auth-username <name>', 'require this user name'],
      [
        '--basic-auth-password <password>',
        'and this password; other users see it while the command runs, but not if it is in the variable ' +
          'PM2_SERVE_BASIC_AUTH_PASSWORD',
      ],
      [
        '--cache <time>',
        'how long browsers keep a file that is not a page and has no hash in its name; "none": they keep ' +
          'nothing (default: they ask each time)',
      ],
      ['--cors [origin]', 'let pages of this site read the files (default: of all sites)'],
      ['--monitor [key]', 'accepted, no effect: nclust has no monitoring service'],
      ['-f, --force', 'start it once more even if it is in the list'],
      NO_WAIT,
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
    brief: 'deploy a commit to hosts over ssh, or go back',
    help:
      'deploy a commit to hosts over ssh: setup, update, revert [n], curr, prev, exec <command>, run ' +
      '<command>, list, unlock, or a ref (default: update)',
    options: [
      ['--parallel', 'work on all hosts at once'],
      ['-f, --force', 'accepted, no effect: nclust does not check for commits that are not pushed'],
      ['--json', 'print each line of a host as JSON'],
    ],
    examples: [
      'nclust deploy production setup',
      'nclust deploy production',
      'nclust deploy ecosystem.config.js production v1.4.2',
      'nclust deploy production revert 1',
      'nclust deploy production exec "nclust list"',
    ],
    load: load(() => import('../../commands/deploy.js'), 'deploy', 'renderDeployLine'),
  },
];
