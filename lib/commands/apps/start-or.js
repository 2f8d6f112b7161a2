import { readReloadOptions, readRestartOptions } from '../../config/options/options.js';
import { renewFromFile, withArgs } from './from-file.js';

/** @typedef {import('../../cli/context.js').Context} Context */
/** @typedef {import('../../cli/outcome.js').Outcome} Outcome */

/**
 * Starts the apps of a file, and restarts those that run.
 * @param {Context} context
 * @param {string[]} words  The file. Default: the one in this folder.
 * @param {Record<string, any>} options
 * @param {string[]} [args]  For every app of the file.
 * @returns {Promise<Outcome>}
 */
export async function startOrRestart(context, [file], options, args = []) {
  return renewFromFile(context, 'restart', file ?? null, options, withArgs(readRestartOptions(options), args));
}

/**
 * Starts the apps of a file, and replaces those that run without losing a request.
 * @param {Context} context
 * @param {string[]} words
 * @param {Record<string, any>} options
 * @param {string[]} [args]  For every app of the file.
 * @returns {Promise<Outcome>}
 */
export async function startOrReload(context, [file], options, args = []) {
  return renewFromFile(context, 'reload', file ?? null, options, withArgs(readReloadOptions(options), args));
}
