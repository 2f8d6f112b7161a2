import { newToken } from '../../cli/outcome.js';

/**
 * Saves an empty list. What runs goes on; the list before is kept beside it, as with every save.
 * @param {import('../../cli/context.js').Context} context
 * @param {string[]} _words
 * @param {Record<string, any>} options
 * @returns {Promise<{file: string, apps: number}>}
 */
export async function cleardump(context, _words, { json }) {
  const client = await context.manager();
  const saved = await client.request('save', { isEmpty: true, force: true, token: newToken() });
  if (!json) context.talk('Saved an empty list.');
  return saved;
}
