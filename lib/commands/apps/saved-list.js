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
export async function save(context, _targets, { force = false, json }) {
  const client = await context.manager();
  const saved = await client.request('save', { force, token: newToken() });
  if (!json) context.talk(`Saved ${saved.apps === 1 ? 'one app' : `${saved.apps} apps`}.`);
  return saved;
}

/**
 * If no manager runs, a new manager restores the apps of the last manager, even if the list was not
 * saved.
 * @param {Context} context
 * @param {string[]} _targets
 * @param {Record<string, any>} options
 * @returns {Promise<Outcome>}  Throws ERR_NCLUST_DUMP_MISSING if there is nothing to restore.
 */
export async function resurrect(context, _targets, options) {
  const isListKept = !(await context.runningManager()) && countSavedApps(context.home) > 0;
  const saved = await startSaved(context, options.wait, isListKept);
  const slots = isListKept ? (await (await context.manager()).request('list')).slots : saved;
  return reportChange(context, slots, { done: 'Restored', json: options.json });
}

/**
 * @param {Context} context
 * @param {boolean} wait
 * @param {boolean} mayBeMissing
 */
async function startSaved(context, wait, mayBeMissing) {
  try {
    return (await carryOut(context, 'resurrect', { wait }, 'Restoring the saved apps')).slots;
  } catch (error) {
    if (mayBeMissing && error instanceof NclustError && error.code === 'ERR_NCLUST_DUMP_MISSING') return [];
    throw error;
  }
}

/**
 * @param {Context} context
 * @param {string[]} _words
 * @param {Record<string, any>} options
 * @returns {Promise<{ file: string, apps: number }>}
 */
export async function cleardump(context, _words, { json }) {
  const client = await context.manager();
  const saved = await client.request('save', { isEmpty: true, force: true, token: newToken() });
  if (!json) context.talk('Saved an empty list.');
  return saved;
}
