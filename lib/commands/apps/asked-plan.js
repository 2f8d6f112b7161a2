import { newToken } from '../../cli/outcome.js';
import { keptApps } from '../../client/not-running.js';
import { readConfig } from '../../config/file/read.js';
import { NclustError } from '../../shared/errors.js';

/** @typedef {import('../../cli/context.js').Context} Context */
/** @typedef {import('../../shared/wire/protocol.js').PlanItem} PlanItem */

/**
 * @typedef {object} AskedPlan
 * @property {PlanItem[]} plan
 * @property {string[]} left  Apps that came from the file, are not in it any more, and stay.
 * @property {import('../../shared/wire/protocol.js').SlotStatus[]} slots
 * @property {string} shown  The file, for people.
 * @property {number} exitStatus
 */

/**
 * @param {Context} context
 * @param {string|undefined} word  The file. Default: the config file of the folder.
 * @param {Record<string, any>} options
 * @returns {Promise<{request: Record<string, unknown>, shown: string}>}  What to ask the manager for.
 */
export async function readFile(context, word, { only, env, prune = false, updateEnv = false }) {
  refuseHalf({ only, prune });
  const { file, specs, warnings } = await readConfig({ file: word ?? null, env: env ?? null, only: only ?? null, cwd: context.cwd, shell: context.env, node: context.node, talk: context.talk });
  for (const warning of warnings) context.talk(warning);
  return { request: { specs, ...(file === null ? {} : { file }), isWhole: only === undefined, prune, updateEnv }, shown: file ?? 'what came from stdin' };
}

/** @param {Record<string, any>} options */
function refuseHalf({ only, prune }) {
  if (only === undefined || !prune) return;
  throw new NclustError('ERR_NCLUST_USAGE', '--only and --prune were given; accepted: one of the two, because what is not in the file can be seen only from all of it.');
}

/**
 * Nothing is started for that.
 * @param {Context} context
 * @param {Record<string, unknown>} request
 * @param {string} shown
 * @returns {Promise<AskedPlan>}
 */
export async function askForPlan(context, request, shown) {
  const client = (await context.present()) ?? (keptApps(context.home) > 0 ? await context.manager() : null);
  const { plan, left } = client ? await client.request('apply', { ...request, dryRun: true, token: newToken() }) : { plan: allNew(request), left: [] };
  return { plan, left, slots: [], shown, exitStatus: 0 };
}

/** @param {PlanItem[]} plan */
export function isPending(plan) {
  return plan.some(({ action }) => action !== 'none');
}

/**
 * @param {Record<string, unknown>} request
 * @returns {PlanItem[]}
 */
function allNew({ specs }) {
  return /** @type {{name: string}[]} */ (specs).map(({ name }) => ({ name, action: 'start', changes: [] }));
}
