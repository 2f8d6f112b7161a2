import { set } from './set.js';
import { get } from './settings.js';

/**
 * PM2's word for both: prints settings, or changes one.
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} words  The key and the value, the key, or nothing.
 * @param {Record<string, any>} options
 * @returns {Promise<Awaited<ReturnType<typeof get>>>}  Throws as get and set do.
 */
export async function conf(context, words, options) {
  if (words.length < 2) return get(context, words);
  return { ...(await set(context, words, options)), key: words[0] };
}
