// Knows: what one command uses: its connections, its terminal, how it shows a change.
// Must not: parse the command line, or know any command.
// Start at: createContext(), then carryOut() in await-change.js.
import { openClient } from '../../client/client.js';
import { connectOnly, connectOrLaunch } from '../../client/connect.js';
import { warnOfForeignHome } from './foreign-home.js';

/** @import { Client } from '../../client/client.js' */
/** @import { ColourLevel } from '../../render/paint.js' */
/** @import { Screen } from './await-change.js' */

/**
 * @typedef {object} Context
 * @property {string} home
 * @property {string} cwd
 * @property {Record<string, string | undefined>} env
 * @property {{ file: string, version: string }} node  The Node.js that runs the command.
 * @property {(sentence: string) => void} talk  Shows a message, never data. Escapes control
 *   characters.
 * @property {(text: string) => void} show  Like `talk`, but for rendered text with colours.
 * @property {Screen | null} screen  Null without a terminal.
 * @property {boolean} isTerminal  Whether data goes to a terminal.
 * @property {ColourLevel} colourLevel
 * @property {(listener: () => void) => () => void} onInterrupt  Ctrl-C calls the listener and does
 *   not end the command. Returns a function that removes the listener.
 * @property {() => Promise<Client>} manager  Starts the manager if no manager runs.
 * @property {() => Promise<Client | null>} runningManager  Null if no manager runs. Returns the
 *   same connection each time.
 * @property {() => Promise<Client | null>} managerIfRunning  Null if no manager runs. If the
 *   manager dies during a request, the client starts the manager again.
 * @property {() => Promise<Client | null>} managerOfAnyVersion  Like managerIfRunning, but accepts
 *   a manager of any version.
 * @property {() => Promise<void>} close
 */

/**
 * @param {Pick<
 *   Context,
 *   | 'home' | 'cwd' | 'env' | 'node' | 'talk' | 'show' | 'screen' | 'isTerminal'
 *   | 'colourLevel' | 'onInterrupt'
 * >} given
 * @returns {Context}
 */
export function createContext(given) {
  /** @type {Set<Client>} */
  const clients = new Set();

  /**
   * @template {Client | null} T
   * @param {T} client
   */
  const keep = (client) => {
    if (client) clients.add(client);
    return client;
  };

  /** @type {Promise<Client | null> | null} */
  let reached = null;

  let hasLooked = false;
  /** @type {typeof openClient} */
  const openOurs = (...args) => {
    const warning = hasLooked ? null : warnOfForeignHome(given.env);
    hasLooked = true;
    if (warning !== null) given.talk(warning);
    return openClient(...args);
  };

  return {
    ...given,
    manager: async () => keep(/** @type {Client} */ (await openOurs(() => connectOrLaunch(given.home)))),
    runningManager: async () => {
      reached ??= openOurs(() => connectOnly(given.home)).then(keep);
      const attempt = reached;
      const client = await attempt.catch((error) => {
        if (reached === attempt) reached = null;
        throw error;
      });
      if (!client) reached = null;
      return client;
    },
    managerIfRunning: async () =>
      keep(
        await openOurs(
          () => connectOnly(given.home),
          () => connectOrLaunch(given.home),
        ),
      ),
    managerOfAnyVersion: async () =>
      keep(
        await openOurs(
          () => connectOnly(given.home),
          () => connectOrLaunch(given.home),
          { isAnyVersion: true },
        ),
      ),
    close: async () => {
      await Promise.all([...clients].map((client) => client.close()));
      clients.clear();
    },
  };
}
