import { newToken } from '../../cli/outcome.js';

/**
 * Writes the list to dump.json.
 * @param {import('../../cli/context.js').Context} context
 * @param {string[]} _targets
 * @param {Record<string, any>} options
 * @returns {Promise<{file: string, apps: number}>}  Throws ERR_NCLUST_EMPTY_LIST unless `force`.
 */
export async function save(context, _targets, { force = false, json }) {
  const client = await context.manager();
  const saved = await client.request('save', { force, token: newToken() });
  if (!json) context.talk(`Saved ${saved.apps === 1 ? 'one app' : `${saved.apps} apps`}.`);
  return saved;
}
