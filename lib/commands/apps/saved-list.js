import { carryOut } from '../../cli/session/await-change.js';
import { reportChange } from '../../cli/session/outcome.js';
import { newToken } from '../../client/client.js';
import { countSavedApps } from '../../client/not-running.js';
import { NclustError } from '../../shared/errors.js';

/** @import { Context } from '../../cli/session/context.js' */
/** @import { Outcome } from '../../cli/session/outcome.js' */

/**
 * @param {Context} context
 * @param {string[]} _targets
 * @param {Record<string, any>} options
 * @returns {Promise<{ file: string, apps: number }>}  Throws ERR_NCLUST_EMPTY_LIST if the
 *   list is empty, unless `force` is true.
 */
export async function save(context, _targets, { force = false }) {
  const client = await context.manager();
  const saved = await client.request('save', { force, token: newToken() });
  context.printUnlessJson(`Saved ${saved.apps === 1 ? 'one app' : `${saved.apps} apps`}.`);
  return saved;
}

/**
 * If no manager runs, a new manager restores the apps of the last manager, even if the list was not
 * saved.
 * @param {Context} context
 * @returns {Promise<Outcome>}  Throws ERR_NCLUST_DUMP_MISSING if there is nothing to restore.
 */
export async function resurrect(context) {
  const isListKept = !(await context.runningManager()) && countSavedApps(context.home) > 0;
  const saved = await startSaved(context, isListKept);
  const slots = isListKept ? (await (await context.manager()).request('list')).slots : saved;
  return reportChange(context, slots, 'Restored');
}

/**
 * @param {Context} context
 * @param {boolean} mayBeMissing
 */
async function startSaved(context, mayBeMissing) {
  try {
    return (await carryOut(context, 'resurrect', {}, 'Restoring the saved apps')).slots;
  } catch (error) {
    if (mayBeMissing && error instanceof NclustError && error.code === 'ERR_NCLUST_DUMP_MISSING') return [];
    throw error;
  }
}

/**
 * @param {Context} context
 * @returns {Promise<{ file: string, apps: number }>}
 */
export async function cleardump(context) {
  const client = await context.manager();
  const saved = await client.request('save', { isEmpty: true, force: true, token: newToken() });
  context.printUnlessJson('Saved an empty list.');
  return saved;
}
