import { withKey } from '../shared/settings/settings.js';

/**
 * Goes back to the default of a setting.
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} words  The key.
 * @param {Record<string, any>} options
 * @returns {Promise<{settings: import('../shared/settings/settings.js').ShownSetting[]}>}  Throws ERR_NCLUST_BAD_SETTING, ERR_NCLUST_SETTINGS_FILE.
 */
export async function unset(context, [key], { json }) {
  const client = await context.manager();
  const { settings, wasSet } = await client.request('unset', { key });
  const [shown] = withKey(settings, key);
  if (!json) context.talk(`"${key}" ${wasSet ? 'is not set any more' : 'was not set'}${shown ? `; the default is ${shown.value}` : ''}.`);
  return { settings: shown ? [shown] : [] };
}
