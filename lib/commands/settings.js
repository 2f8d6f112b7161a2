import { homePaths } from '../shared/paths.js';
import { checkKey, describeSettings, withKey } from '../shared/settings/settings.js';
import { readSettingsFile } from '../shared/settings/settings-file.js';

/**
 * A setting of the whole home, or all of them. Needs no manager.
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} words  The key, or nothing.
 * @returns {Promise<{settings: import('../shared/settings/settings.js').ShownSetting[], key: string|null}>}  Throws ERR_NCLUST_BAD_SETTING.
 */
export async function get(context, [key]) {
  if (key !== undefined) checkKey(key);
  const file = homePaths(context.home).settings;
  const { given, problems, broken } = readSettingsFile(file);
  if (broken !== null) context.talk(`The settings in "${file}" are not used, because ${broken}; the defaults are.`);
  for (const problem of problems) context.talk(`In the settings "${file}" ${problem}.`);
  const all = describeSettings(given);
  return { settings: key === undefined ? all : withKey(all, key), key: key ?? null };
}
