import { openClient } from './client.js';
import { connectOrLaunch } from './launch.js';
import { resolveHome } from './shared/paths.js';

export { defineConfig } from './define-config.js';
export { NclustError } from './shared/errors.js';

/**
 * Connects to the manager of a home, and starts it when none runs.
 * @param {object} [o]
 * @param {string} [o.home]  Default: NCLUST_HOME, else ~/.nclust.
 * @returns {Promise<import('./client.js').Client>}  The caller closes it. Throws NclustError, for example ERR_NCLUST_DAEMON_UNREACHABLE.
 */
export async function connect({ home = resolveHome(process.env) } = {}) {
  const client = await openClient(() => connectOrLaunch(home));
  return /** @type {import('./client.js').Client} */ (client);
}
