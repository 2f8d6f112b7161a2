import { existsSync, rmSync } from 'node:fs';
import { checkHome } from '../client/check-home.js';
import { NclustError } from '../shared/errors.js';
import { replaceFile } from '../shared/host/replace-file.js';
import { homePaths } from '../shared/paths.js';
import { readSettingsFile, readSettingsText } from '../shared/settings/settings-file.js';

const KEYS = ['web.listen', 'web.actions', 'web.allow_remote'];

/**
 * Ends the dashboard of a home where no manager runs: the next one will serve none, and nobody gets in with the old token any more.
 * @param {string} home
 * @returns {{isOn: false, wasOn: boolean}}  Whether the next one would have served it. Throws ERR_NCLUST_SETTINGS_FILE, and what checkHome throws.
 */
export function forgetDashboard(home) {
  const { settings, webToken } = homePaths(home);
  const { given, values, broken } = readSettingsFile(settings);
  if (broken !== null) throw new NclustError('ERR_NCLUST_SETTINGS_FILE', `The settings in "${settings}" cannot be changed: ${broken}.`, { hint: 'Mend the file or move it away; nothing was changed.' });
  const isSet = KEYS.some((key) => Object.hasOwn(given, key));
  if (isSet || existsSync(webToken)) checkHome(home); // A file that root leaves here the owner of the home could not read.
  if (isSet) writeWithout(settings);
  rmSync(webToken, { force: true });
  return { isOn: false, wasOn: values['web.listen'].kind !== 'none' };
}

/** @param {string} file */
function writeWithout(file) {
  const kept = Object.entries(JSON.parse(readSettingsText(file) ?? '{}')).filter(([key]) => !KEYS.includes(key));
  try {
    replaceFile(file, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    throw new NclustError('ERR_NCLUST_SETTINGS_FILE', `The settings could not be written to "${file}" (${code ?? message}); nothing was changed.`, { hint: 'Make room on the disk or mend the permissions of the home, then repeat the command.', cause: error });
  }
}
