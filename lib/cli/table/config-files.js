import { ATTACH, JSON_OPTION, NO_WAIT, OF_FILE, changeSummary, fileArgument, load } from './row.js';

/** @import { AskedPlan } from '../../commands/apps/apply.js' */
/** @import { Command } from './row.js' */

const [ONLY, ENV] = OF_FILE;
/** @type {[string, string]} */
const UPDATE_ENV = ['-a, --update-env', 'accepted: the apps of a file get the variables of this shell anyway'];

/** Commands that work with config files. @type {Command[]} */
export const CONFIG = [
  {
    name: 'startOrRestart',
    words: '[config]',
    brief: 'start the apps of a config file, restart those that run',
    help: 'start the apps of a config file; those that run are restarted',
    takesOptionsOf: 'restart',
    options: [NO_WAIT, ONLY, ENV, UPDATE_ENV, ATTACH, JSON_OPTION],
    load: load(() => import('../../commands/apps/start.js'), 'startOrRestart', changeSummary),
  },
  {
    name: 'startOrReload',
    aliases: ['startOrGracefulReload'],
    words: '[config]',
    brief: 'start the apps of a config file, reload those that run',
    help: 'start the apps of a config file; those that run are reloaded, without losing a request',
    takesOptionsOf: 'reload',
    options: [NO_WAIT, ONLY, ENV, UPDATE_ENV, ATTACH, JSON_OPTION],
    examples: ['nclust startOrReload ecosystem.config.js --env production'],
    load: load(() => import('../../commands/apps/start.js'), 'startOrReload', changeSummary),
  },
  {
    name: 'validate',
    words: '[config]',
    help: 'look at a config file, and start nothing',
    options: [ONLY, ENV, JSON_OPTION],
    load: load(
      () => import('../../commands/config.js'),
      'validate',
      async () => (await import('../../commands/config.js')).renderValidated,
    ),
  },
  {
    name: 'init',
    aliases: ['ecosystem'],
    words: '[simple]',
    brief: 'write a config file to begin with',
    help: 'write a config file to begin with; "simple": one of three lines',
    options: [JSON_OPTION],
    load: load(() => import('../../commands/config.js'), 'init', fileArgument),
  },
];

/** @type {[string, string][]} */
const FROM_FILE = [
  ['--only <names>', 'these apps of the file, with commas between them'],
  ['--env <name>', 'the environment whose env_<name> counts'],
  ['--prune', 'delete apps that were applied from this file before and are not in it any more'],
  [
    '-a, --update-env',
    'give apps the variables and the interpreter of this shell in place of those they were started with',
  ],
];

/** Commands that make the running state equal to a file. @type {Command[]} */
export const APPLY = [
  {
    name: 'apply',
    words: '[file]',
    brief: 'make what runs equal to a config file, by what is needed',
    help:
      'make what runs equal to a config file, by as little as is needed: nothing, a live change, a ' +
      'scaling, a reload',
    options: [
      ...FROM_FILE,
      ['--dry-run', 'print the plan and change nothing; exit status 2: there is something to do, 0: there is not'],
      NO_WAIT,
      JSON_OPTION,
    ],
    examples: [
      'nclust apply                                  the config file of this folder',
      'nclust apply nclust.config.js --dry-run',
      'nclust apply --env production --only api,worker',
      'nclust apply --prune',
    ],
    load: async () => {
      const [{ apply }, { renderPlan }, list] = await Promise.all([
        import('../../commands/apps/apply.js'),
        import('../../render/plan.js'),
        changeSummary(),
      ]);
      return {
        run: apply,
        render: (data, view) =>
          view.options.dryRun ? renderPlan(data, { paint: view.paint, isWhole: false }) : list(data, view),
        json: planJson,
      };
    },
  },
  {
    name: 'diff',
    words: '[file]',
    brief: 'show what apply would change',
    help: 'show what apply would change, attribute by attribute; exit status 2: there is something, 0: there is not',
    options: [...FROM_FILE, JSON_OPTION],
    examples: ['nclust diff', 'nclust diff nclust.config.js --env production'],
    load: async () => {
      const [{ diff }, { renderPlan }] = await Promise.all([
        import('../../commands/apps/apply.js'),
        import('../../render/plan.js'),
      ]);
      return {
        run: diff,
        render: (data, view) => renderPlan(data, { paint: view.paint, isWhole: true }),
        json: planJson,
      };
    },
  },
];

/** @param {AskedPlan} data */
function planJson({ plan, left, slots }) {
  return { plan, left, slots };
}
