import { carryOut } from '../../cli/await-change.js';
import { newToken, outcome } from '../../cli/outcome.js';
import { readReloadOptions, specFields } from '../../config/options/options.js';
import { snapshot } from '../../config/spec/build.js';
import { fileAmong, renewFromFile, sayOnlyForFiles, withArgs } from './from-file.js';
import { commonChanges, ownChanges } from './own-changes.js';
import { reachListed } from './targets.js';

/**
 * Replaces apps by new instances of themselves, one by one and without losing a request. What is given as an option is the app's setting from then on.
 * @param {import('../../cli/context.js').Context} context
 * @param {string[]} words  The targets, or a config file.
 * @param {Record<string, any>} options
 * @param {string[]} [args]  What stood behind "--": for the app, from then on.
 * @returns {Promise<import('../../cli/outcome.js').Outcome>}
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
