import { snapshot } from '../../config/spec/build.js';
import { carryOut } from '../../cli/await-change.js';
import { readRestartOptions, specFields } from '../../config/options/options.js';
import { reachListed } from './targets.js';
import { commonChanges, ownChanges } from './own-changes.js';
import { fileAmong, renewFromFile, sayOnlyForFiles, withArgs } from './from-file.js';
import { newToken, outcome } from '../../cli/outcome.js';

/**
 * Ends apps and starts them again; with `updateEnv`, the shell's variables are merged over theirs. What is given as an option is the app's setting from then on.
 * @param {import('../../cli/context.js').Context} context
 * @param {string[]} words  The targets, or a config file.
 * @param {Record<string, any>} options
 * @param {string[]} [args]  What stood behind "--": for the app, from then on.
 * @returns {Promise<import('../../cli/outcome.js').Outcome>}
 */
export async function restart(context, words, options, args = []) {
  const read = readRestartOptions(options);
  const file = fileAmong(words);
  if (file !== null) return renewFromFile(context, 'restart', file, options, withArgs(read, args));
  sayOnlyForFiles(context, options);
  const { client, targets } = await reachListed(context, words);
  const changes = { ...commonChanges(specFields(read)), ...(await ownChanges(context, client, targets, { read, args })), ...(options.updateEnv ? { env: snapshot(context.env) } : {}), ...(options.watch ? { watch: true } : {}) };
  const { slots } = await carryOut(context, client, 'restart', { targets, wait: options.wait, ...changes, token: newToken() }, `Restarting ${words.join(', ')}`);
  return outcome(context, client, slots, { done: options.wait ? 'Restarted' : 'Restarting', json: options.json });
}
