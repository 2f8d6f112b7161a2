import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The version of the nearest package.json that has one.
 * @param {string} folder  Where to begin; absolute.
 * @returns {string}  "N/A" when there is none.
 */
export function appVersion(folder) {
  for (let at = folder; ; at = dirname(at)) {
    const version = versionIn(join(at, 'package.json'));
    if (version) return version;
    if (at === dirname(at)) return 'N/A';
  }
}

/** @param {string} file */
function versionIn(file) {
  try {
    const { version } = JSON.parse(readFileSync(file, 'utf8'));
    return typeof version === 'string' ? version : null;
  } catch {
    return null; // Missing or broken: that is the app's affair, this only decorates the list.
  }
}
