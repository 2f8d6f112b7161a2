import { askForPlan, isPending, readFile } from './asked-plan.js';

/**
 * What `apply` would change, one by one. Nothing is touched.
 * @param {import('../../cli/context.js').Context} context
 * @param {string[]} words  The file, or nothing.
 * @param {Record<string, any>} options
 * @returns {Promise<import('./asked-plan.js').AskedPlan>}  Rejects with what readConfig says.
 */
export async function diff(context, [word], options) {
  const { request, shown } = await readFile(context, word, options);
  const asked = await askForPlan(context, request, shown);
  return { ...asked, exitStatus: isPending(asked.plan) ? 2 : 0 };
}
