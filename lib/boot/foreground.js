import { setTimeout as pause } from 'node:timers/promises';
import { countSavedApps } from '../client/not-running.js';
import { connectOrLaunch } from '../client/connect.js';
import { NclustError } from '../shared/errors.js';
import { homePaths } from '../shared/paths.js';
import { superviseManager } from './watch-manager.js';
import { hasLeft, connectKeeper } from './probe-manager.js';
// Imports these modules now. After an update, a later import would load another version.
import '../client/check-home.js';
import '../client/spawn-keeper.js';

/** @import { Visit } from './probe-manager.js' */
/** @import { Notifier } from './systemd.js' */

/** Time limit to connect to a keeper that has just answered, in ms. */
const VISIT_MS = 20_000;

const PAUSE_MS = 50;

/**
 * Starts the manager of a home if no manager runs, and follows it. If the keeper dies, follows the
 * next keeper.
 * @param {object} o
 * @param {string} o.home
 * @param {Notifier | null} o.notifier
 * @param {(sentence: string) => void} o.printMessage
 * @param {AbortSignal} o.ending  Its abort ends the manager and the apps. The next manager
 *   restores the apps.
 * @param {(pid: number, signal: 'SIGTERM' | 'SIGKILL') => void} o.send
 * @returns {Promise<void>}  Rejects with ERR_NCLUST_CONNECTION_LOST if the manager exited without
 *   an abort of `ending`, and its list still has apps. Also rejects if a manager cannot be started.
 */
export async function followManager({ home, notifier, printMessage, ending, send }) {
  const paths = homePaths(home);
  const over = new AbortController();
  /** @type {Visit | null} */
  let visit = null;
  const end = () => {
    if (visit) send(visit.keeperPid, 'SIGTERM');
  };
  const endHung = (/** @type {number} */ pid, /** @type {string} */ what) => {
    printMessage(`The ${what} (pid ${pid}) does not answer and is replaced.`);
    send(pid, 'SIGKILL');
  };
  ending.addEventListener('abort', end, { once: true });
  /** @type {Promise<void> | null} */
  let attending = null;
  try {
    do {
      (await connectOrLaunch(home)).destroy();
      visit = await connectKeeper(paths.run, AbortSignal.timeout(VISIT_MS));
      if (visit === null) {
        await pause(PAUSE_MS); // Control is starting the next keeper.
        continue;
      }
      printMessage(`${attending ? 'The next' : 'The'} manager is keeper ${visit.keeperPid}, for ${home}.`);
      attending ??= superviseManager({
        paths,
        notifier,
        keeperPid: () => visit?.keeperPid ?? null,
        endHung,
        signal: over.signal,
      });
      if (ending.aborted) end();
      await visit.gone;
      visit = null;
    } while (!hasLeft(paths.run));
  } finally {
    ending.removeEventListener('abort', end);
    over.abort();
    await attending;
  }
  if (!ending.aborted && countSavedApps(home) > 0) {
    throw new NclustError(
      'ERR_NCLUST_CONNECTION_LOST',
      `The manager of "${home}" was killed. Its list of apps is kept.`,
      { hint: 'Start them again with: nclust resurrect' },
    );
  }
}
