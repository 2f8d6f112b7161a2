// Knows: the surroundings of one command: its connections, its terminal, how it shows a change.
// Must not: parse the command line, or know any command.
// Start at: createContext(), then carryOut() in await-change.js.
import { openClient } from '../../client/client.js';
import { connectOnly, connectOrLaunch } from '../../client/connect.js';
import { warnOfForeignHome } from './foreign-home.js';

/** @import { Client } from '../../client/client.js' */
/** @import { ColourLevel } from '../../render/paint.js' */
/** @import { Screen } from './await-change.js' */

/**
 * What a command gets besides its arguments.
 * @typedef {object} Context
 * @property {string} home
 * @property {string} cwd
 * @property {Record<string, string | undefined>} env
 * @property {{ file: string, version: string }} node  The Node.js that runs the command.
 * @property {(sentence: string) => void} talk  To the person; never data. It may quote anything.
 * @property {(text: string) => void} show  The same for what was rendered, with its colours.
 * @property {Screen | null} screen  Where progress can be shown; null where there is no terminal.
 * @property {boolean} isTerminal  Whether its data goes to a terminal.
 * @property {ColourLevel} colourLevel  Of that terminal.
 * @property {(listener: () => void) => () => void} onInterrupt  Ctrl-C does this in place of ending
 *   the command; returns what undoes it.
 * @property {() => Promise<Client>} manager  Starts the manager when none runs.
 * @property {() => Promise<Client | null>} running  Null when none runs. Never starts one. Asked
 *   again, it gives the same connection.
 * @property {() => Promise<Client | null>} present  Null when none runs; but one that dies in the
 *   middle of a request is started again to finish it.
 * @property {() => Promise<Client | null>} predecessor  Like present, whatever version it has: it
 *   is about to be replaced.
 * @property {() => Promise<void>} close  Closes the connections that were made. Idempotent.
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
    running: async () => {
      reached ??= openOurs(() => connectOnly(given.home)).then(keep);
      const client = await reached;
      if (!client) reached = null;
      return client;
    },
    present: async () =>
      keep(
        await openOurs(
          () => connectOnly(given.home),
          () => connectOrLaunch(given.home),
        ),
      ),
    predecessor: async () =>
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
