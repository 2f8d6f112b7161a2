import { load } from './row.js';

/** Apps without a manager in the background. @type {import('./row.js').Command[]} */
export const RUN = [
  {
    name: 'run', words: '[script|command|config...]', brief: 'run apps in the foreground until they end, as containers do', help: 'run apps in the foreground until they end, as a container does: output, signals and exit status are theirs', takesOptionsOf: 'start',
    options: [
      ['--only <names>', 'of a config file, only these apps'], ['--env <name>', 'of a config file, use env_<name>'],
      ['--raw', 'show the lines of the apps as they are (default)'], ['--json', 'as JSON, one record a line'], ['--format', 'as key=value'], ['--formatted', 'with the time and the name in front'],
      ['--no-auto-exit', 'stay when no app runs any more'], ['--delay <seconds>', 'wait before the start'], ['--web [port]', 'accepted and left out: there is no web interface'], ['--no-daemon', 'accepted: nothing is left in the background anyway'],
    ],
    examples: ['nclust run ecosystem.config.js --env production', 'nclust run app.js -i max', 'nclust run server.js --no-autorestart -- --port 80', 'nclust-runtime app.js         the same; first process of a container'],
    load: load(() => import('../commands/run.js'), 'run', async () => () => ''),
  },
];
