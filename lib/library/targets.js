import { isAbsolute, resolve } from 'node:path';
import { isFile } from '../shared/daemon/files.js';

/** @import { Client } from '../client/client.js' */
/** @import { SlotStatus } from '../shared/wire/protocol.js' */

/**
 * Makes the paths of scripts absolute, because the manager does not know the folder of the caller.
 * A name, namespace or id comes before a script.
 * @param {{ cwd: string }} caller
 * @param {Pick<Client, 'request'>} client
 * @param {string[]} targets
 */
export async function absoluteScripts({ cwd }, client, targets) {
  const isScript = targets.map((target) => !isAbsolute(target) && isFile(resolve(cwd, target)));
  if (!isScript.includes(true)) return targets;
  /** @type {{ slots: SlotStatus[] }} */
  const { slots } = await client.request('list');
  const words = new Set(slots.flatMap(({ id, name, namespace }) => [String(id), name, namespace]));
  return targets.map((target, at) => (isScript[at] && !words.has(target) ? resolve(cwd, target) : target));
}
