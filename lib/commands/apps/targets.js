import { isAbsolute, resolve } from 'node:path';
import { countSavedApps, noManagerError } from '../../client/not-running.js';
import { isFile } from '../../shared/daemon/files.js';

/** @import { Context } from '../../cli/session/context.js' */
/** @import { Client } from '../../client/client.js' */
/** @import { SlotStatus } from '../../shared/wire/protocol.js' */

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
 * Makes the paths of scripts absolute, because only the command knows its folder. A name, namespace
 * or id comes before a script.
 * @param {Pick<Context, 'cwd'>} context
 * @param {Pick<Client, 'request'>} client
 * @param {string[]} targets
 */
export async function absoluteScripts({ cwd }, client, targets) {
  const isScript = targets.map((target) => !isAbsolute(target) && isFile(resolve(cwd, target)));
  if (!isScript.includes(true)) return targets;
  const { slots } = await client.request('list');
  const words = new Set(
    slots.flatMap((/** @type {SlotStatus} */ { id, name, namespace }) => [String(id), name, namespace]),
  );
  return targets.map((target, at) => (isScript[at] && !words.has(target) ? resolve(cwd, target) : target));
}
