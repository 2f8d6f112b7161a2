// Knows: the library in the shape of PM2: its names, its bus, its errors.
// Must not: have features that the library in the parent folder does not have.
// Start at: this file, then calls.js; bus.js has the events.
import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { connectOnly } from '../../client/connect.js';
import { NclustError } from '../../shared/errors.js';
import { resolveHome } from '../../shared/paths.js';
import { connect } from '../connect.js';
import { Bus } from './bus.js';
import { CALLS, toPm2Error } from './calls.js';

/** @import { Nclust } from '../nclust.js' */

/** @type {Record<string, string>} */
const REPLACEMENTS = {
  startup: 'use nclust startup',
  profile: 'use nclust profile',
  install: 'log rotation and metrics are built in',
  uninstall: 'log rotation and metrics are built in',
  attach: 'use logs() and send() of "nclust", or nclust attach',
  get: 'use get() of "nclust"',
  set: 'use set() of "nclust"',
  multiset: 'use set() of "nclust"',
  unset: 'use unset() of "nclust"',
  remote: 'call the method itself',
  remoteV2: 'call the method itself',
};

/**
 * PM2's programmatic API for one home. Has one connection, which opens at the first call.
 * @param {object} o
 * @param {string} [o.home]  Default: NCLUST_HOME when the connection opens, or ~/.nclust.
 * @param {string} [o.cwd]
 * @param {boolean} [o.isIndependent]  Only this program uses the home. destroy() removes it.
 */
export function createPm2({ home: own, cwd, isIndependent = false }) {
  /** @type {Promise<Nclust> | null} */
  let connecting = null;
  /**
   * Keeps the program alive from connect() until disconnect() or killDaemon(), even if the manager
   * exits for another reason.
   * @type {NodeJS.Timeout | undefined}
   */
  let staying;
  /** @type {Set<Bus>} */
  const buses = new Set();
  /** @type {Set<Promise<unknown>>} */
  const under = new Set();

  const readHome = () => own ?? resolveHome(process.env);

  async function reach() {
    // Drops warnings, because PM2 accepts unknown attributes without a warning.
    connecting ??= connect({ home: readHome(), cwd, onWarning: () => {} });
    try {
      return await connecting;
    } catch (error) {
      connecting = null;
      throw error;
    }
  }

  async function leave() {
    for (const bus of buses) bus.close();
    buses.clear();
    await Promise.allSettled(under);
    await close();
  }

  async function close() {
    const left = connecting;
    connecting = null;
    clearInterval(staying);
    staying = undefined;
    await (await left?.catch(() => null))?.close();
  }

  /** @type {Record<string, (...args: any[]) => Promise<any>>} */
  const ownCalls = {
    async connect(noDaemon) {
      const there = connecting ? null : await connectOnly(readHome());
      there?.destroy();
      const isNew = !connecting && !there;
      const nclust = await reach();
      if (noDaemon === true && isNew) endWithProgram(nclust);
      else staying ??= setInterval(() => {}, LONGEST_MS);
      return { new_pm2_instance: isNew, pm2_home: nclust.home };
    },

    async launchBus() {
      const bus = new Bus(await reach());
      buses.add(bus);
      bus.sock.once('close', () => buses.delete(bus));
      return bus.open();
    },

    async killDaemon() {
      const nclust = await reach();
      await nclust.kill();
      await close();
      return { success: true };
    },

    async destroy() {
      await ownCalls.killDaemon();
      if (isIndependent) await rm(readHome(), { recursive: true, force: true });
    },
  };

  return {
    /**
     * @param {string} method
     * @param {unknown[]} args
     * @returns {Promise<any>}
     */
    call(method, args) {
      if (method === 'disconnect') return leave();
      const work = perform(method, args).finally(() => under.delete(work));
      under.add(work);
      return work;
    },
  };

  /**
   * @param {string} method
   * @param {unknown[]} args
   */
  async function perform(method, args) {
    try {
      if (Object.hasOwn(REPLACEMENTS, method))
        throw new NclustError(
          'ERR_NCLUST_ELSEWHERE',
          `nclust does not have ${method}() of PM2's API: ${REPLACEMENTS[method]}.`,
        );
      if (Object.hasOwn(ownCalls, method)) return await ownCalls[method](...args);
      const nclust = await reach();
      // Waits until the bus receives log lines, so that the bus gets the first lines of a new app.
      await Promise.all([...buses].map((bus) => bus.ready()));
      return await CALLS[method](nclust, ...args);
    } catch (error) {
      throw toPm2Error(error, method, args[0]);
    }
  }
}

/** The maximum of setInterval(). */
const LONGEST_MS = 2 ** 31 - 1;

const BIN = fileURLToPath(new URL('../../../bin/nclust.js', import.meta.url));

/**
 * As with connect(true) of PM2, the apps end when this program exits. Runs "nclust kill" at exit,
 * because the manager is a separate process.
 * @param {Nclust} nclust  Connected to a manager that was started for this program.
 */
function endWithProgram(nclust) {
  const { home } = nclust;
  process.once('exit', () => {
    spawn(process.execPath, [BIN, 'kill'], {
      detached: true,
      stdio: 'ignore',
      env: { ...process.env, NCLUST_HOME: home },
    }).unref();
  });
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
  void keepAlive(nclust);
}

/** @param {Nclust} nclust */
async function keepAlive(nclust) {
  const nothing = nclust.events({ types: ['nclust:nothing'] });
  // Waits for an event that never comes. The wait keeps the program alive, and ends at disconnect()
  // or when the manager exits.
  await nothing.next().catch(() => {});
}
