// Looks after the files of control in the home, because other programs delete old files. For
// example, systemd-tmpfiles does this in /tmp. Log files of apps are opened again when the next
// line comes, and the keeper looks after its own files (daemon/keeper/home.js).

/** @import { HomePaths } from '../../lib/shared/paths.js' */
/** @import { ApiServer } from './api/server.js' */
/** @import { Control, Parts } from './context.js' */
/** @import { PidFiles } from './status/pid-files.js' */

/**
 * @param {object} o
 * @param {HomePaths} o.paths
 * @param {Pick<Parts, 'store' | 'managerLog' | 'ownLog'>} o.parts
 * @param {Pick<Control, 'registry'>} o.control
 * @param {ApiServer} o.api
 * @param {PidFiles} o.pidFiles
 * @returns {() => void}  Puts back what is missing. Call it once a second.
 */
export function createHomeKeeping({ paths, parts, control, api, pidFiles }) {
  let isBusy = false;
  let problem = '';

  async function putBack() {
    parts.ownLog.restore();
    const { desired, ending } = control.registry;
    if (api.isMissing()) {
      await api.listen(paths);
      parts.managerLog('file-restored', { file: paths.sock });
    }
    if (ending) return;
    if (desired.apps.length > 0 && parts.store.isMissing()) {
      parts.store.save(desired);
      parts.managerLog('file-restored', { file: paths.state });
    }
    pidFiles.putBack();
  }

  return () => {
    if (isBusy) return;
    isBusy = true;
    putBack()
      .then(() => (problem = ''))
      .catch((error) => {
        // The home itself may be gone. The keeper handles that.
        if (error.message !== problem) parts.managerLog('file-not-restored', { message: error.message });
        problem = error.message;
      })
      .finally(() => (isBusy = false));
  };
}
