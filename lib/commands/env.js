import { nothingThere } from '../client/not-running.js';
import { snapshot } from '../config/spec/build.js';
import { envDiff } from '../config/spec/environment-diff.js';

/**
 * The variables an instance was given; with `--diff`, what differs from those of this shell, and where it comes from. Secrets are masked.
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} words  One target; of several instances, the first.
 * @param {{diff?: boolean}} [options]
 * @returns {Promise<{env: Record<string, string>, differences?: import('../config/spec/environment-diff.js').Difference[]}>}  Throws ERR_NCLUST_APP_NOT_FOUND.
 */
export async function env(context, [target], { diff = false } = {}) {
  const client = await context.running();
  if (!client) throw nothingThere(context, [target]);
  const { slots } = await client.request('list', { targets: [target], detail: true });
  const [slot] = slots;
  const given = slot?.effectiveEnv ?? {};
  return { env: given, ...(diff && slot ? { differences: envDiff(slot, snapshot(context.env), context.home) } : {}) };
}
