import { isNode, takesChannel } from '../../lib/shared/daemon/programs.js';
import { hasSignal } from '../../lib/shared/daemon/home-processes.js';
import { readProgram, readWords } from './host/processes.js';

/** @import { ProcessEntry } from './host/processes.js' */

/**
 * Chooses the signal for an app without a `stop_signal`. A signal without a handler ends a program
 * before its other handler can run. So the choice is SIGTERM for a program that handles only
 * SIGTERM, and SIGINT for a program that handles only SIGINT.
 *
 * Runtimes such as Node.js catch both signals themselves, so the system does not know the handlers
 * of the program. An app with a channel reports its handlers. For the others, preload.cjs lets the
 * system know. If neither works, such a program gets SIGINT, as in PM2.
 * @param {object} o
 * @param {number} o.pid  The main process.
 * @param {string[]} o.caught  Reported. A launcher such as npm reports nothing, because the app is
 *   another process.
 * @param {boolean} o.hasAgent  The main process is Node.js.
 * @param {() => Promise<ProcessEntry[]>} o.findTree  The main process and its descendants.
 * @returns {Promise<NodeJS.Signals>}
 */
export async function chooseStopSignal({ pid, caught, hasAgent, findTree }) {
  if (caught.length > 0) return caught.includes('SIGTERM') ? 'SIGTERM' : 'SIGINT';
  const tree = await findTree();
  if (!hasAgent && !tree.some(catchesItself)) return handlesOnly(pid, 'SIGINT') ? 'SIGINT' : 'SIGTERM';
  return tree.some((one) => handlesOnly(one.pid, 'SIGTERM')) ? 'SIGTERM' : 'SIGINT';
}

/**
 * @param {number} pid
 * @param {'SIGINT' | 'SIGTERM'} signal
 */
function handlesOnly(pid, signal) {
  return hasSignal(pid, 'SigCgt', signal) && !hasSignal(pid, 'SigCgt', signal === 'SIGINT' ? 'SIGTERM' : 'SIGINT');
}

/**
 * Whether the runtime catches SIGINT and SIGTERM itself. Go also catches SIGURG.
 * @param {ProcessEntry} entry
 */
function catchesItself(entry) {
  return isNode(readProgram(entry)) || hasSignal(entry.pid, 'SigCgt', 'SIGURG');
}

/**
 * Whether the process can read messages. Other programs only have the channel, and npm does not
 * pass messages on.
 * @param {ProcessEntry} entry
 */
export function readsMessages(entry) {
  const name = readProgram(entry);
  if (!entry.hasChannel || !(isNode(name) || name === 'bun')) return false;
  const [first, ...rest] = readWords(entry);
  return ![first, rest.find((word) => !word.startsWith('-'))].some((word) => word !== undefined && takesChannel(word));
}
