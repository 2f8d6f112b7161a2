import { countSavedApps, noManagerError } from '../../client/not-running.js';
import { absoluteScripts } from '../../library/targets.js';

/** @import { Context } from '../../cli/session/context.js' */
/** @import { Client } from '../../client/client.js' */
/** @import { Ask } from '../../library/changes.js' */

/**
 * Starts a manager only if an earlier manager left a list of apps, because a mistyped name must not
 * start it.
 * @param {Context} context
 * @returns {Promise<Client | null>}
 */
export async function reachWithApps(context) {
  return (await context.managerIfRunning()) ?? (countSavedApps(context.home) > 0 ? context.manager() : null);
}

/**
 * @param {Context} context
 * @param {string[]} targets
 * @returns {Promise<{ client: Client, targets: string[] }>}  Throws ERR_NCLUST_APP_NOT_FOUND if
 *   there is no manager.
 */
export async function reachListed(context, targets) {
  const client = await reachWithApps(context);
  if (!client) throw noManagerError(context, targets);
  return { client, targets: await absoluteScripts(context, client, targets) };
}

/**
 * A command as the library sees a caller.
 * @param {Context} context
 * @param {(...given: Parameters<Ask>) => Promise<any>} [send]  Default: sends a question.
 * @returns {Ask}
 */
export function asCaller(
  { cwd, env, node, printMessage, manager },
  send = async (method, params) => (await manager()).request(method, params),
) {
  return Object.assign(send, { cwd, env, node, printMessage, warn: printMessage });
}
