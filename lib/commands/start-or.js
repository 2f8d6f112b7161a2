import { readReloadOptions, readRestartOptions } from '../config/options.js';
import { renewFromFile } from './of-file.js';

/** @typedef {import('../context.js').Context} Context */
/** @typedef {import('./outcome.js').Outcome} Outcome */

/**
 * Starts the apps of a file, and restarts those that run.
 * @param {Context} context
 * @param {string[]} words  The file. Default: the one in this folder.
 * @param {Record<string, any>} options
 * @returns {Promise<Outcome>}
 */
export async function startOrRestart(context, [file], options) {
  return renewFromFile(context, 'restart', file ?? null, options, readRestartOptions(options));
}

/**
 * Starts the apps of a file, and replaces those that run without losing a request.
 * @param {Context} context
 * @param {string[]} words
 * @param {Record<string, any>} options
 * @returns {Promise<Outcome>}
 */
export async function startOrReload(context, [file], options) {
  return renewFromFile(context, 'reload', file ?? null, options, readReloadOptions(options));
}
