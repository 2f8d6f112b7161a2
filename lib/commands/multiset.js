import { checkSetting } from '../shared/settings/settings.js';
import { NclustError } from '../shared/errors.js';
import { set } from './set.js';

/**
 * Changes several settings. All of them are looked at before the first is changed.
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} words  One text of keys and values.
 * @param {Record<string, any>} options
 * @returns {Promise<{settings: import('../shared/settings/settings.js').ShownSetting[]}>}  Throws ERR_NCLUST_USAGE, ERR_NCLUST_BAD_SETTING, ERR_NCLUST_SETTINGS_FILE.
 */
export async function multiset(context, [text], options) {
  const words = text.trim().split(/\s+/);
  if (words.length % 2 === 1) throw new NclustError('ERR_NCLUST_USAGE', `"${text}" has ${words.length} words; accepted: pairs of a key and a value.`);
  const pairs = Array.from({ length: words.length / 2 }, (_, at) => [words[2 * at], words[2 * at + 1]]);
  for (const [key, value] of pairs) checkSetting(key, value);
  const settings = [];
  for (const pair of pairs) settings.push(...(await set(context, pair, options)).settings);
  return { settings };
}
