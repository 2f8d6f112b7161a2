import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** @import { LoadFnOutput, LoadHookContext } from 'node:module' */

// Hooks of node:module, which run in a separate thread. The hooks load one file in a given module
// format, because its package.json declares the wrong format.

/** @type {{ url: string, format: string }} */
let forced;

/** @param {{ url: string, format: string }} data */
export function initialize(data) {
  forced = data;
}

/**
 * @param {string} url
 * @param {LoadHookContext} context
 * @param
 *   {(url: string, context?: Partial<LoadHookContext>) => LoadFnOutput | Promise<LoadFnOutput>}
 *   nextLoad
 * @returns {Promise<LoadFnOutput>}
 */
export async function load(url, context, nextLoad) {
  if (url !== forced.url) return nextLoad(url, context);
  if (forced.format !== 'commonjs')
    return nextLoad(url, { ...context, format: /** @type {'module'} */ (forced.format) });
  return { format: 'commonjs', source: await readFile(fileURLToPath(url)), shortCircuit: true };
}
