import { carryOut } from '../../cli/await-change.js';
import { withVersioning } from '../../config/spec/git.js';
import { renderPlan } from '../../render/plan.js';
import { createPaint } from '../../render/paint.js';
import { askForPlan, isPending, readFile } from './asked-plan.js';
import { newToken, outcome } from '../../cli/outcome.js';

/** @typedef {import('../../cli/context.js').Context} Context */
/** @typedef {import('./asked-plan.js').AskedPlan} AskedPlan */

/**
 * Makes the running state equal to a config file.
 * @param {Context} context
 * @param {string[]} words  The file, or nothing.
 * @param {Record<string, any>} options
 * @returns {Promise<AskedPlan & {all: import('../../shared/wire/protocol.js').SlotStatus[]}>}  Rejects with ERR_NCLUST_APPLY_FAILED, and what readConfig says.
 */
export async function apply(context, [word], options) {
  const { request, shown } = await readFile(context, word, options);
  const asked = await askForPlan(context, request, shown);
  if (options.dryRun) return { ...asked, all: [], exitStatus: isPending(asked.plan) ? 2 : 0 };
  if (!options.json) tell(context, asked);

  const client = await context.manager();
  const { wait, json } = options;
  const specs = await withVersioning(/** @type {import('../../shared/spec/spec.js').AppSpec[]} */ (request.specs));
  /** @type {AskedPlan} */
  const { plan, left, slots } = await carryOut(context, client, 'apply', { ...request, specs, wait, token: newToken() }, `Applying ${shown}`);
  const changed = new Set(plan.filter(({ action }) => action !== 'none').map(({ name }) => name));
  const { all } = json || changed.size > 0 ? await outcome(context, client, slots.filter(({ name }) => changed.has(name)), { done: wait ? 'Changed' : 'Changing', json }) : { all: (await client.request('list')).slots };
  return { plan, left, slots, all, shown, exitStatus: 0 };
}

/** @param {Context} context @param {AskedPlan} asked */
function tell(context, asked) {
  const paint = context.screen?.paint ?? createPaint(0);
  context.talk(renderPlan(asked, { paint, isWhole: false }).trimEnd());
}
