import { isAbsolute, sep } from 'node:path';
import { NclustError } from '../../../lib/shared/errors.js';
import { readUser } from '../../../lib/shared/host/as-user.js';
import { followLinks } from '../../../lib/shared/host/follow-links.js';

/** @import { HomePaths } from '../../../lib/shared/paths.js' */
/** @import { AppSpec } from '../../../lib/app-spec/types.js' */

/**
 * An app that writes to the manager's files would damage them, and "flush" would empty them.
 * Rotation would rename and remove the program of an app.
 * @param {AppSpec} spec
 * @param {HomePaths} paths
 * @returns {AppSpec}  The same spec. Throws ERR_NCLUST_BAD_SPEC if a log file is such a file.
 */
export function keepOffOwnFiles(spec, paths) {
  for (const key of /** @type {const} */ (['outFile', 'errorFile', 'logFile'])) {
    const path = isAbsolute(spec[key]) ? followLinks(readUser(spec), spec[key]) : spec[key];
    const isProgram = path !== '' && [spec.script, spec.file].includes(path);
    if (!isProgram && !isOwn(path, paths)) continue;
    throw new NclustError(
      'ERR_NCLUST_BAD_SPEC',
      `"${key}" is "${spec[key]}", which is ${isProgram ? 'the program of the app' : 'a file of the manager'}; ` +
        'accepted: any other path.',
      { data: { keyPath: key } },
    );
  }
  return spec;
}

/**
 * @param {string} path
 * @param {HomePaths} paths
 */
function isOwn(path, { sock, state, stateBackup, reserve, dump, settings, webToken, daemonLog, events, run }) {
  return (
    [sock, state, stateBackup, reserve, dump, `${dump}.bak`, settings, webToken, daemonLog, events].includes(path) ||
    path.startsWith(`${run}${sep}`)
  );
}
