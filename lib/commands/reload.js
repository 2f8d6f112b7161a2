import { isDeepStrictEqual } from 'node:util';
import { carryOut } from '../carry-out.js';
import { snapshot } from '../config/app-spec.js';
import { interpreterChange } from '../config/interpreter-change.js';
import { readReloadOptions, specFields } from '../config/options.js';
import { reachListed } from './listed.js';
import { newToken, outcome } from './outcome.js';

/** @typedef {import('../client.js').Client} Client */
/** @typedef {import('../context.js').Context} Context */
/** @typedef {import('../shared/protocol.js').SlotStatus} SlotStatus */
/** @typedef {import('../shared/spec.js').AppSpec} AppSpec */

/**
 * Replaces apps by new instances of themselves, one by one and without losing a request. What is given as an option is the app's setting from then on.
 * @param {Context} context
 * @param {string[]} words  The targets.
 * @param {Record<string, any>} options
 * @returns {Promise<import('./outcome.js').Outcome>}
 */
export async function reload(context, words, options) {
  const read = readReloadOptions(options);
  const { client, targets } = await reachListed(context, words);
  const env = options.updateEnv ? { env: snapshot(context.env) } : {};
  const changes = await specChanges(context, client, targets, read);
  const { wait, json } = options;
  const doing = `Reloading ${words.join(', ')}`;
  const answers = [];
  for (const change of changes) answers.push(await carryOut(context, client, 'reload', { ...change, wait, ...env, token: newToken() }, doing));
  return outcome(context, client, answers.flatMap(({ slots }) => slots), { done: wait ? 'Reloaded' : 'Reloading', json });
}

/**
 * What to ask for. An interpreter means something else for each script, so that apps may have to be asked for one by one.
 * @param {Context} context
 * @param {Client} client
 * @param {string[]} targets
 * @param {Record<string, any>} read
 * @returns {Promise<{targets: string[], spec?: Partial<AppSpec>}[]>}
 */
async function specChanges(context, client, targets, read) {
  const fields = specFields(read);
  const interpreterArgs = read.interpreterArgs ?? read.nodeArgs;
  if (read.interpreter === undefined && interpreterArgs === undefined) return [Object.keys(fields).length > 0 ? { targets, spec: fields } : { targets }];
  /** @type {{slots: SlotStatus[]}} */
  const { slots } = await client.request('list', { targets, detail: true });
  const apps = [...new Set(slots.map(({ name }) => name))].map((name) => slots.filter((slot) => slot.name === name));
  const changes = apps.map((own) => ({
    targets: own.map(({ id }) => String(id)),
    spec: { ...fields, ...interpreterChange(/** @type {AppSpec} */ (own[0].spec), { interpreter: read.interpreter, interpreterArgs }, { path: context.env.PATH, node: context.node }) },
  }));
  return changes.every(({ spec }) => isDeepStrictEqual(spec, changes[0].spec)) ? [{ targets, spec: changes[0].spec }] : changes;
}
