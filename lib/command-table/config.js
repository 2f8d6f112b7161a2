import { ATTACH, JSON_OPTION, NO_WAIT, OF_FILE, changedList, load } from './row.js';

const [ONLY, ENV] = OF_FILE;
/** @type {[string, string]} */
const UPDATE_ENV = ['-a, --update-env', 'accepted: the apps of a file get the variables of this shell anyway'];

/** What is done with config files. @type {import('./row.js').Command[]} */
export const CONFIG = [
  {
    name: 'startOrRestart', words: '[config]', brief: 'start the apps of a config file, restart those that run', help: 'start the apps of a config file; those that run are restarted', takesOptionsOf: 'restart', options: [NO_WAIT, ONLY, ENV, UPDATE_ENV, ATTACH, JSON_OPTION],
    load: load(() => import('../commands/start-or.js'), 'startOrRestart', changedList),
  },
  {
    name: 'startOrReload', aliases: ['startOrGracefulReload'], words: '[config]', brief: 'start the apps of a config file, reload those that run', help: 'start the apps of a config file; those that run are reloaded, without losing a request', takesOptionsOf: 'reload', options: [NO_WAIT, ONLY, ENV, UPDATE_ENV, ATTACH, JSON_OPTION],
    examples: ['nclust startOrReload ecosystem.config.js --env production'],
    load: load(() => import('../commands/start-or.js'), 'startOrReload', changedList),
  },
  {
    name: 'validate', words: '[config]', help: 'look at a config file, and start nothing', options: [ONLY, ENV, JSON_OPTION],
    load: load(() => import('../commands/validate.js'), 'validate', async () => (await import('../render/validated.js')).renderValidated),
  },
  {
    name: 'init', aliases: ['ecosystem'], words: '[simple]', brief: 'write a config file to begin with', help: 'write a config file to begin with; "simple": one of three lines', options: [JSON_OPTION],
    load: load(() => import('../commands/init.js'), 'init', async () => ({ file }) => `${file}\n`),
  },
];
