// Knows: what one command uses: its connections, its terminal, how it shows a change.
// Must not: parse the command line, or know any command.
// Start at: createContext(), then carryOut() in await-change.js.
import { userInfo } from 'node:os';
import { openClient } from '../../client/client.js';
import { connectOnly, connectOrLaunch } from '../../client/connect.js';
import { statIfThere, tryTo } from '../../shared/daemon/files.js';
import { resolveHome } from '../../shared/paths.js';

/** @import { Client } from '../../client/client.js' */
/** @import { ColourLevel } from '../../render/paint.js' */
/** @import { Screen } from './await-change.js' */

/**
 * @typedef {object} Context
 * @property {string} home
 * @property {string} cwd
 * @property {Record<string, string | undefined>} env
 * @property {{ file: string, version: string }} node  The Node.js that runs the command.
 * @property {(sentence: string) => void} printMessage  Shows a message, never data. Escapes control
 *   characters.
 * @property {(sentence: string) => void} printUnlessJson  Like `printMessage`, but not with --json.
 * @property {(text: string) => void} show  Like `printMessage`, but for rendered text with colours.
 * @property {Screen | null} screen  Null without a terminal.
 * @property {boolean} isJson  Whether the user wants JSON.
 * @property {boolean} isWaiting  False with --no-wait.
 * @property {boolean} isTerminal  Whether data goes to a terminal.
 * @property {ColourLevel} colourLevel
 * @property {(listener: () => void) => () => void} onInterrupt  Ctrl-C calls the listener and does
 *   not end the command. Returns a function that removes the listener.
 * @property {typeof openClient} open  Warns first if the home belongs to another user.
 * @property {() => Promise<Client | null>} runningManager  Null if no manager runs. Never starts a
 *   manager. Returns the same connection each time.
 * @property {() => Promise<Client>} manager  Starts the manager if no manager runs, or if it dies
 *   during a request. Shares one connection with the next two.
 * @property {() => Promise<Client | null>} managerIfRunning  Like manager(), but null if no manager
 *   runs.
 * @property {() => Promise<Client | null>} managerOfAnyVersion  Like managerIfRunning(), but accepts
 *   a manager of any version.
 * @property {() => Promise<void>} close
 */

/**
 * @param {Pick<
 *   Context,
 *   | 'home' | 'cwd' | 'env' | 'node' | 'printMessage' | 'show' | 'screen' | 'isJson' | 'isWaiting' | 'isTerminal'
 *   | 'colourLevel' | 'onInterrupt'
 * >} given
 * @returns {Context}
 */
export function createContext(given) {
  /** @type {Set<Client>} */
  const clients = new Set();

  let hasLooked = false;
  /** @type {typeof openClient} */
  const open = (...args) => {
    const warning = hasLooked ? null : warnOfForeignHome(given.env);
    hasLooked = true;
    if (warning !== null) given.printMessage(warning);
    return openClient(...args);
  };

  /** Remembers a connection, but not a failure. */
  const rememberOne = () => {
    /** @type {Promise<Client | null> | null} */
    let opening = null;
    /** @param {Parameters<typeof openClient>} how */
    return async (...how) => {
      const attempt = (opening ??= open(...how));
      const client = await attempt.catch(() => null);
      if (client) clients.add(client);
      else if (opening === attempt) opening = null;
      return attempt;
    };
  };
  const passing = rememberOne();
  const lasting = rememberOne();
  const reach = () => connectOnly(given.home);
  const launch = () => connectOrLaunch(given.home);

  return {
    ...given,
    printUnlessJson: given.isJson ? () => {} : given.printMessage,
    open,
    runningManager: () => passing(reach),
    manager: async () => /** @type {Client} */ (await lasting(launch)),
    managerIfRunning: () => lasting(reach, launch),
    managerOfAnyVersion: () => lasting(reach, launch, { isAnyVersion: true }),
    close: async () => {
      await Promise.all([...clients].map((client) => client.close()));
      clients.clear();
    },
  };
}

/**
 * Returns a warning if nclust would use the HOME of another user, otherwise null. HOME belongs to
 * another user after `sudo -E`, `su -p`, or a sudo that keeps HOME (macOS).
 * @param {Record<string, string | undefined>} env
 */
export function warnOfForeignHome(env) {
  const { HOME, NCLUST_HOME } = env;
  if (NCLUST_HOME || !HOME) return null;
  const own = tryTo(() => userInfo(), null); // In a container the user may have no account.
  if (own === null || own.homedir === HOME) return null;
  const owner = statIfThere(HOME)?.uid;
  if (owner === undefined || owner === own.uid || owner === 0) return null;
  const who = own.uid === 0 ? 'root' : `user ${own.uid}`;
  return (
    `HOME is "${HOME}", which belongs to user ${owner}, and this is ${who}. So nclust uses the home ` +
    `"${resolveHome(env)}" and not "${resolveHome({ HOME: own.homedir })}". To use your own: "sudo -H" or "su -". ` +
    `To use the other one: run nclust as user ${owner}, or set NCLUST_HOME.`
  );
}
