import { checkSetting, withKey } from '../shared/settings/settings.js';
import { unservedSentence } from '../shared/settings/unserved.js';

/**
 * Changes a setting of the whole home.
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} words  Key and value.
 * @param {Record<string, any>} options
 * @returns {Promise<{settings: import('../shared/settings/settings.js').ShownSetting[]}>}  Throws ERR_NCLUST_BAD_SETTING, ERR_NCLUST_SETTINGS_FILE.
 */
export async function set(context, [key, value], { json }) {
  checkSetting(key, value); // Before a manager is started for it.
  const client = await context.manager();
  // A manager of an earlier version does not tell.
  const { settings, unserved = null } = await client.request('set', { key, value });
  if (!json) context.talk(`"${key}" is ${value} now.`);
  if (!json && unserved) context.talk(unservedSentence(unserved));
  return { settings: withKey(settings, key) };
}
