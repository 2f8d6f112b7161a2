import { carryOut } from '../carry-out.js';
import { snapshot } from '../config/app-spec.js';
import { interpreterChange } from '../config/interpreter-change.js';
import { readReloadOptions, specFields } from '../config/options.js';
import { reachListed } from './listed.js';
import { fileAmong, renewFromFile, sayOnlyForFiles } from './of-file.js';
import { newToken, outcome } from './outcome.js';

/** @typedef {import('../client.js').Client} Client */
/** @typedef {import('../context.js').Context} Context */
/** @typedef {import('../shared/protocol.js').SlotStatus} SlotStatus */
/** @typedef {import('../shared/spec.js').AppSpec} AppSpec */

/**
 * Replaces apps by new instances of themselves, one by one and without losing a request. What is given as an option is the app's setting from then on.
 * @param {Context} context
 * @param {string[]} words  The targets, or a config file.
 * @param {Record<string, any>} options
 * @returns {Promise<import('./outcome.js').Outcome>}
 */
export async function reload(context, words, options) {
  const read = readReloadOptions(options);
  const file = fileAmong(words);
  if (file !== null) return renewFromFile(context, 'reload', file, options, read);
  sayOnlyForFiles(context, options);
  const { client, targets } = await reachListed(context, words);
  const env = options.updateEnv ? { env: snapshot(context.env) } : {};
  const { wait, json } = options;
  const changes = { ...unlessEmpty('spec', specFields(read)), ...unlessEmpty('specs', await ownChanges(context, client, targets, read)) };
  const request = { targets, ...changes, wait, ...env, token: newToken() };
  const { slots } = await carryOut(context, client, 'reload', request, `Reloading ${words.join(', ')}`);
  return outcome(context, client, slots, { done: wait ? 'Reloaded' : 'Reloading', json });
}

/**
 * What changes in each app by itself: an interpreter means something else for each script.
 * @param {Context} context
 * @param {Client} client
 * @param {string[]} targets
 * @param {Record<string, any>} read
 * @returns {Promise<Record<string, Partial<AppSpec>>>}  By name.
 */
async function ownChanges(context, client, targets, read) {
  const { interpreter, interpreterArgs = read.nodeArgs } = read;
  if (interpreter === undefined && interpreterArgs === undefined) return {};
  /** @type {{slots: SlotStatus[]}} */
  const { slots } = await client.request('list', { targets, detail: true });
  const specs = new Map(slots.map((slot) => [slot.name, /** @type {AppSpec} */ (slot.spec)]));
  const where = { path: context.env.PATH, node: context.node };
  return Object.fromEntries([...specs].map(([name, spec]) => [name, interpreterChange(spec, { interpreter, interpreterArgs }, where)]));
}

/**
 * @param {string} key
 * @param {object} value
 */
function unlessEmpty(key, value) {
  return Object.keys(value).length > 0 ? { [key]: value } : {};
}
