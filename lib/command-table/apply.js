import { JSON_OPTION, NO_WAIT, changedList } from './row.js';

/** @type {[string, string][]} */
const FROM_FILE = [
  ['--only <names>', 'these apps of the file, with commas between them'],
  ['--env <name>', 'the environment whose env_<name> counts'],
  ['--prune', 'delete apps that were applied from this file before and are not in it any more'],
  ['-a, --update-env', 'give apps the variables and the interpreter of this shell in place of those they were started with'],
];

/** Making the running state equal to a file. @type {import('./row.js').Command[]} */
export const APPLY = [
  {
    name: 'apply', words: '[file]', brief: 'make what runs equal to a config file, by what is needed', help: 'make what runs equal to a config file, by as little as is needed: nothing, a live change, a scaling, a reload',
    options: [...FROM_FILE, ['--dry-run', 'print the plan and change nothing; exit status 2: there is something to do, 0: there is not'], NO_WAIT, JSON_OPTION],
    examples: ['nclust apply                                  the config file of this folder', 'nclust apply nclust.config.js --dry-run', 'nclust apply --env production --only api,worker', 'nclust apply --prune'],
    load: async () => {
      const [{ apply }, { renderPlan }, list] = await Promise.all([import('../commands/apply.js'), import('../render/plan.js'), changedList()]);
      return { run: apply, render: (data, view) => (view.options.dryRun ? renderPlan(data, { paint: view.paint, isWhole: false }) : list(data, view)), json: planJson };
    },
  },
  {
    name: 'diff', words: '[file]', brief: 'show what apply would change', help: 'show what apply would change, attribute by attribute; exit status 2: there is something, 0: there is not',
    options: [...FROM_FILE, JSON_OPTION],
    examples: ['nclust diff', 'nclust diff nclust.config.js --env production'],
    load: async () => {
      const [{ diff }, { renderPlan }] = await Promise.all([import('../commands/diff.js'), import('../render/plan.js')]);
      return { run: diff, render: (data, view) => renderPlan(data, { paint: view.paint, isWhole: true }), json: planJson };
    },
  },
];

/** @param {import('../commands/asked-plan.js').AskedPlan} data */
function planJson({ plan, left, slots }) {
  return { plan, left, slots };
}
