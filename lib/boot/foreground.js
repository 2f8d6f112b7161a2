import { countSavedApps } from '../client/not-running.js';
import { connectOrLaunch } from '../client/connect.js';
import { NclustError } from '../shared/errors.js';
import { homePaths } from '../shared/paths.js';
import { attend } from './watch-manager.js';
import { hasLeft, visitKeeper } from './probe-manager.js';
// An update in place would give a process that lives for months the modules of another version:
// what may be needed later is read now.
import '../client/check-home.js';
import '../client/spawn-keeper.js';

/** @import { Visit } from './probe-manager.js' */
/** @import { Notifier } from './systemd.js' */

/** For a keeper that was there a moment ago. */
const VISIT_MS = 20_000;

/** Between two looks for the next keeper. */
const PAUSE_MS = 50;

/**
 * Stays as long as the home has a manager: starts one when there is none, and follows from one
 * keeper to the next when one dies or is replaced.
 * @param {object} o
 * @param {string} o.home
 * @param {Notifier | null} o.notifier
 * @param {(sentence: string) => void} o.talk
 * @param {AbortSignal} o.ending  The manager is to be ended, its apps with it; they stay wanted.
 * @param {(pid: number, signal: 'SIGTERM' | 'SIGKILL') => void} o.send
 * @returns {Promise<void>}  When it has ended because it should. Rejects with
 *   ERR_NCLUST_CONNECTION_LOST when it ended although its apps are wanted, and with what launching
 *   one throws.
 */
export async function stayWith({ home, notifier, talk, ending, send }) {
  const paths = homePaths(home);
  const over = new AbortController();
  /** @type {Visit | null} */
  let visit = null;
  const end = () => {
    if (visit) send(visit.keeperPid, 'SIGTERM');
  };
  const endHung = (/** @type {number} */ pid, /** @type {string} */ what) => {
    talk(`The ${what} (pid ${pid}) does not answer and is replaced.`);
    send(pid, 'SIGKILL');
  };
  ending.addEventListener('abort', end, { once: true });
  /** @type {Promise<void> | null} */
  let attending = null;
  try {
    do {
      (await connectOrLaunch(home)).destroy();
      visit = await visitKeeper(paths.run, AbortSignal.timeout(VISIT_MS));
      if (visit === null) {
        await new Promise((resolve) => {
          setTimeout(resolve, PAUSE_MS);
        }); // Control is starting the next one.
        continue;
      }
      talk(`${attending ? 'The next' : 'The'} manager is keeper ${visit.keeperPid}, for ${home}.`);
      attending ??= attend({
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
      `The manager of "${home}" was ended from outside, and its apps are still wanted.`,
      { hint: 'Bring them back with: nclust resurrect' },
    );
  }
}
