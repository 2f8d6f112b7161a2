import { carryOut } from '../carry-out.js';
import { snapshot } from '../config/app-spec.js';
import { readReloadOptions, specFields } from '../config/options.js';
import { reachListed } from './listed.js';
import { fileAmong, renewFromFile, sayOnlyForFiles, withArgs } from './of-file.js';
import { newToken, outcome } from './outcome.js';
import { commonChanges, ownChanges } from './own-changes.js';

/**
 * Replaces apps by new instances of themselves, one by one and without losing a request. What is given as an option is the app's setting from then on.
 * @param {import('../context.js').Context} context
 * @param {string[]} words  The targets, or a config file.
 * @param {Record<string, any>} options
 * @param {string[]} [args]  What stood behind "--": for the app, from then on.
 * @returns {Promise<import('./outcome.js').Outcome>}
 */
export async function reload(context, words, options, args = []) {
  const read = readReloadOptions(options);
  const file = fileAmong(words);
  if (file !== null) return renewFromFile(context, 'reload', file, options, withArgs(read, args));
  sayOnlyForFiles(context, options);
  const { client, targets } = await reachListed(context, words);
  const env = options.updateEnv ? { env: snapshot(context.env) } : {};
  const { wait, json } = options;
  const changes = { ...commonChanges(specFields(read)), ...(await ownChanges(context, client, targets, { read, args })) };
  const request = { targets, ...changes, wait, ...env, token: newToken() };
  const { slots } = await carryOut(context, client, 'reload', request, `Reloading ${words.join(', ')}`);
  return outcome(context, client, slots, { done: wait ? 'Reloaded' : 'Reloading', json });
}
