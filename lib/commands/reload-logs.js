import { notRunning } from '../client/not-running.js';

/**
 * Has every log file opened anew.
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} _words
 * @param {Record<string, any>} options
 * @returns {Promise<{}>}  Throws ERR_NCLUST_DAEMON_NOT_RUNNING.
 */
export async function reloadLogs(context, _words, { json }) {
  const client = await context.present();
  if (!client) throw notRunning(context);
  const done = await client.request('reloadLogs');
  if (!json) context.talk('Every log file is open anew.');
  return done;
}
