import { absoluteScripts } from '../commands/apps/targets.js';
import { NclustError } from '../shared/errors.js';

/** @typedef {string|number|readonly (string|number)[]} Targets  A name, an id, a namespace, the path of a script, "all", "/pattern/", or several of them. */

/**
 * @param {Targets} targets
 * @param {import('./calls.js').Ask} ask
 * @returns {Promise<string[]>}  As the manager understands them.
 */
export async function readTargets(targets, ask) {
  const words = asWords(targets);
  return absoluteScripts({ cwd: process.cwd() }, { request: ask }, words);
}

/** @param {unknown} targets @returns {string[]}  Throws ERR_NCLUST_USAGE. */
function asWords(targets) {
  const list = Array.isArray(targets) ? targets : [targets];
  if (list.length > 0 && list.every((one) => typeof one === 'number' || (typeof one === 'string' && one !== ''))) return list.map(String);
  throw new NclustError('ERR_NCLUST_USAGE', `The target is ${JSON.stringify(targets)}; accepted: a name, an id, a namespace, "all", "/pattern/", or a list of them.`);
}
