import { ATTACH, NO_WAIT, OF_FILE, changeSummary, fileArgument, isNotDryRun, load } from './row.js';

/** @import { AskedPlan } from '../../commands/apps/apply.js' */
/** @import { Command } from './row.js' */

const [ONLY, ENV] = OF_FILE;
/** @type {[string, string]} */
const UPDATE_ENV = [
  '-a, --update-env',
  'accepted, no effect: the apps of a file always get the variables of this shell',
];

/** @type {Command[]} */
export const CONFIG = [
  {
    name: 'startOrRestart',
    words: '[config]',
    brief: 'start the apps of a config file, restart those that run',
    help: 'start the apps of a config file, and restart those that run',
    takesOptionsOf: 'restart',
    takesArguments: true,
    options: [NO_WAIT, ONLY, ENV, UPDATE_ENV, ATTACH],
    load: load(() => import('../../commands/apps/start.js'), 'startOrRestart', changeSummary),
  },
  {
    name: 'startOrReload',
    aliases: ['startOrGracefulReload'],
    words: '[config]',
    brief: 'start the apps of a config file, reload those that run',
    help: 'start the apps of a config file, and reload those that run, without losing a request',
    takesOptionsOf: 'reload',
    takesArguments: true,
    options: [NO_WAIT, ONLY, ENV, UPDATE_ENV, ATTACH],
    examples: ['nclust startOrReload ecosystem.config.js --env production'],
    load: load(() => import('../../commands/apps/start.js'), 'startOrReload', changeSummary),
  },
  {
    name: 'validate',
    words: '[config]',
    help: 'check a config file, and start nothing',
    options: [ONLY, ENV],
    load: load(() => import('../../commands/config.js'), 'validate', 'renderValidated'),
  },
  {
    name: 'init',
    aliases: ['ecosystem'],
    words: '[simple]',
    brief: 'write a first config file',
    help: 'write a first config file; with "simple", a short one',
    load: load(() => import('../../commands/config.js'), 'init', fileArgument),
  },
];

/** @type {[string, string][]} */
const FROM_FILE = [
  ['--only <names>', 'only these apps of the file: "api,worker"'],
  ['--env <name>', 'also use the variables of "env_<name>"'],
  ['--prune', 'delete apps that were applied from this file and are no longer in it'],
  ['-a, --update-env', 'give apps the variables and the interpreter of this shell, not those they were started with'],
];

/** @type {Command[]} */
export const APPLY = [
  {
    name: 'apply',
    words: '[file]',
    brief: 'make the running apps match a config file',
    help:
      'make the running apps match a config file with the smallest change: none, a live change, scaling ' +
      'or a reload',
    options: [
      ...FROM_FILE,
      ['--dry-run', 'print the plan and change nothing; exit status 2: changes are needed, 0: none'],
      NO_WAIT,
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
        isAside: isNotDryRun,
      };
    },
  },
  {
    name: 'diff',
    words: '[file]',
    brief: 'show what apply would change',
    help: 'show what apply would change, attribute by attribute; exit status 2: there are changes, 0: none',
    options: [...FROM_FILE],
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
