import { notRunning } from '../client/not-running.js';

/**
 * @param {import('../cli/context.js').Context} context
 * @returns {Promise<{hello: import('../shared/wire/protocol.js').Hello}>}  Throws ERR_NCLUST_DAEMON_NOT_RUNNING.
 */
export async function ping(context) {
  const client = await context.running();
  if (!client?.hello) throw notRunning(context);
  return { hello: client.hello };
}
