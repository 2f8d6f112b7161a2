import { notRunning } from '../client/not-running.js';
import { reachListed } from './apps/targets.js';

/**
 * Empties log files and removes what was rotated.
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} words  The targets. None: all apps, and the manager's own log.
 * @returns {Promise<{files: {path: string, bytes: number}[]}>}  `bytes`: that are free now. Throws ERR_NCLUST_DAEMON_NOT_RUNNING, ERR_NCLUST_APP_NOT_FOUND.
 */
export async function flush(context, words) {
  if (words.length > 0) {
    const { client, targets } = await reachListed(context, words);
    return client.request('flush', { targets });
  }
  const client = await context.present();
  if (!client) throw notRunning(context);
  return client.request('flush');
}
