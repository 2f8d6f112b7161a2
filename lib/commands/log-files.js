import { notRunningError } from '../client/not-running.js';
import { formatBytes } from '../figures/format.js';
import { toOneLine } from '../render/text.js';
import { reachListed } from './apps/targets.js';

/** @import { Context } from '../cli/session/context.js' */

/**
 * @param {Context} context
 * @param {string[]} words  None: all apps, and the manager's own log.
 * @returns {Promise<{ files: { path: string, bytes: number }[] }>}  `bytes`: freed.
 */
export async function flush(context, words) {
  if (words.length > 0) {
    const { client, targets } = await reachListed(context, words);
    return client.request('flush', { targets });
  }
  const client = await context.managerIfRunning();
  if (!client) throw notRunningError(context);
  return client.request('flush');
}

/**
 * @param {Context} context
 * @returns {Promise<{}>}
 */
export async function reloadLogs(context) {
  const client = await context.managerIfRunning();
  if (!client) throw notRunningError(context);
  const done = await client.request('reloadLogs');
  context.printUnlessJson('All log files were reopened.');
  return done;
}

/** @param {{ files: { path: string, bytes: number }[] }} data */
export function renderFlushed({ files }) {
  return files.length === 0
    ? 'There was nothing to empty.\n'
    : files.map(({ path, bytes }) => `Flushed ${toOneLine(path)} (${formatBytes(bytes)})\n`).join('');
}
