// Knows: the dashboard: its address, its token, and what a page may ask.
// Must not: let a page call a method that permissions.js does not name, or show a secret.
// Start at: createWeb(), then permissions.js; server.js has HTTP, sockets.js the WebSockets.
import { rmSync } from 'node:fs';
import { formatAddress } from '../../../lib/shared/address.js';
import { TICK_MS } from '../../../lib/shared/metrics.js';
import { createSerial } from '../../../lib/shared/serial.js';
import {
  isLoopback,
  isTooFar,
  remoteNotice,
  unservedNotice,
  WEB_HOST,
  WEB_PORT,
} from '../../../lib/shared/settings/listen-address.js';
import { webError, isServedAt, reachableHost, readListen, describeListenError, remoteAddressError } from './address.js';

/** @import { Unserved, WebAddress } from '../../../lib/shared/settings/listen-address.js' */
/** @import { ApiContext, ManagerLog, Settings } from '../context.js' */
/** @import { Clock } from '../host/clock.js' */
/** @import { Dashboard } from './server.js' */

/** Number of ports to try if the user did not choose a port. */
const PORTS_TRIED = 20;

/**
 * @typedef {object} WebOptions  Options that are left out stay as they are.
 * @property {string} [listen]
 * @property {boolean} [mayAct]
 * @property {boolean} [allowRemote]
 * @property {boolean} [isNewToken]
 */

/**
 * @typedef {object} WebState  `url` contains the token.
 * @property {true} isOn
 * @property {string} url
 * @property {string} host
 * @property {number} port
 * @property {boolean} mayAct
 * @property {boolean} isRemote
 * @property {number[]} takenPorts
 */

/**
 * Loads the server of the page only if the settings ask for it.
 * @typedef {object} Web
 * @property {(slot: WebOptions) => Promise<WebState>} begin  Rejects with
 *   ERR_NCLUST_BAD_SETTING, ERR_NCLUST_WEB_FAILED, ERR_NCLUST_SETTINGS_FILE.
 * @property {() => Promise<{ wasOn: boolean }>} end  The old token becomes invalid.
 * @property {() => Promise<void>} sync  Applies the settings. Never rejects.
 * @property {() => Promise<Unserved | null>} syncNow  Like sync(), but also runs
 *   after a sync() in progress. Never rejects. Returns why the dashboard could not listen. Null: no
 *   failure.
 * @property {() => string[]} notices
 * @property {() => Promise<void>} close  Does not change the settings.
 */

/**
 * @param {object} o
 * @param {Settings} o.settings
 * @param {string} o.tokenFile
 * @param {() => ApiContext} o.context
 * @param {(listener: () => void) => () => void} o.onTick
 * @param {Clock} o.clock
 * @param {ManagerLog} o.managerLog
 * @param {string} [o.folder]
 * @returns {Web}
 */
export function createWeb({ settings, tokenFile, context: context, onTick, clock, managerLog, folder }) {
  /** @type {{ dashboard: Dashboard, token: string, mayAct: boolean } | null} */
  let open = null;
  /** Why the dashboard could not listen. @type {string | null} */
  let problem = null;
  let isSyncing = false;
  const inTurn = createSerial();

  /** @param {WebAddress} address */
  async function serve(address) {
    const [{ serveDashboard }, { loadToken, createTokenCheck }] = await Promise.all([
      import('./server.js'),
      import('./token.js'),
    ]);
    const token = loadToken(tokenFile);
    const dashboard = await serveDashboard(address, {
      context: context(),
      clock,
      isRight: createTokenCheck(token),
      mayAct: () => settings.web().mayAct,
      onFault: tellFailure,
      folder,
    });
    managerLog('web-served', dashboard.address);
    return { dashboard, token, mayAct: settings.web().mayAct };
  }

  /** @param {WebAddress | null} wanted  Null: the first free port. */
  async function serveSomewhere(wanted) {
    const ports = wanted ? [wanted.port] : Array.from({ length: PORTS_TRIED }, (_, at) => WEB_PORT + at);
    const host = wanted?.host ?? WEB_HOST;
    for (const port of ports) {
      try {
        return { ...(await serve({ host, port })), takenPorts: ports.slice(0, ports.indexOf(port)) };
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EADDRINUSE' || port === ports.at(-1))
          throw webError({ host, port }, error);
      }
    }
    throw new Error('unreachable: the last port throws');
  }

  async function shut() {
    const was = open;
    open = null;
    await was?.dashboard.close();
    if (was) managerLog('web-ended', was.dashboard.address);
  }

  /** @type {Web['begin']} */
  async function begin({ listen, mayAct, allowRemote, isNewToken = false }) {
    const { listen: kept, allowRemote: wasRemote } = settings.web();
    const asked = listen === undefined ? null : readListen(listen);
    const wanted = asked ?? (kept.kind === 'tcp' ? kept : null);
    const isRemote = wanted !== null && !isLoopback(wanted);
    if (isRemote && !(allowRemote ?? wasRemote)) throw remoteAddressError(wanted);
    let takenPorts = /** @type {number[]} */ ([]);
    if (!open || (wanted && !isServedAt(open.dashboard.address, wanted))) {
      // The old dashboard may use this port at another address, so close it first. If the new
      // dashboard fails, the next sync opens the old dashboard again.
      if (open && wanted?.port === open.dashboard.address.port) await shut();
      const next = await serveSomewhere(wanted);
      takenPorts = next.takenPorts;
      // Write the settings before the old dashboard closes, because the write may fail.
      try {
        if (allowRemote !== undefined) settings.set('web.allow_remote', String(allowRemote));
        settings.set('web.listen', formatAddress(next.dashboard.address));
      } catch (error) {
        await next.dashboard.close();
        throw error;
      }
      await shut();
      open = next;
    } else if (allowRemote !== undefined) settings.set('web.allow_remote', String(allowRemote));
    problem = null;
    if (mayAct !== undefined) settings.set('web.actions', String(mayAct));
    if (isNewToken) await renewToken(open);
    updateRights(open);
    return shown(open, takenPorts);
  }

  /** @param {NonNullable<typeof open>} served */
  async function renewToken(served) {
    const { newToken, createTokenCheck } = await import('./token.js');
    served.token = newToken(tokenFile);
    served.dashboard.changeToken(createTokenCheck(served.token));
    served.dashboard.sendAway();
  }

  /**
   * If `mayAct` has changed, makes the pages connect again, because a page learns only when it
   * connects whether it may act.
   * @param {NonNullable<typeof open>} served
   */
  function updateRights(served) {
    const { mayAct } = settings.web();
    if (served.mayAct !== mayAct) served.dashboard.sendAway();
    served.mayAct = mayAct;
  }

  /** @type {Web['end']} */
  async function end() {
    const wasOn = settings.web().listen.kind !== 'none';
    for (const key of ['web.listen', 'web.actions', 'web.allow_remote']) settings.unset(key);
    await shut();
    rmSync(tokenFile, { force: true });
    problem = null;
    return { wasOn };
  }

  async function applySettings() {
    const { listen, allowRemote } = settings.web();
    if (listen.kind === 'none') {
      problem = null;
      return shut();
    }
    if (open && isServedAt(open.dashboard.address, listen)) return updateRights(open);
    await shut();
    if (isTooFar(listen, allowRemote)) {
      problem = null; // The notices report that the settings are wrong.
      return undefined;
    }
    try {
      open = await serve(listen);
      problem = null;
    } catch (error) {
      problem = describeListenError(error);
    }
    return undefined;
  }

  /** @type {Web['sync']} */
  async function sync() {
    if (isSyncing || (settings.web().listen.kind === 'none' && open === null && problem === null)) return;
    isSyncing = true;
    await inTurn(applySettings).catch(tellFailure);
    isSyncing = false;
  }

  /** @type {Web['syncNow']} */
  async function syncNow() {
    await inTurn(applySettings).catch(tellFailure);
    return problem === null ? null : { reason: problem, retryMs: TICK_MS };
  }

  /** @param {unknown} error */
  function tellFailure(error) {
    managerLog('web-failed', { message: describeListenError(error) });
  }

  const stop = onTick(() => void sync());
  return {
    begin: (options) => inTurn(() => begin(options)),
    end: () => inTurn(end),
    sync,
    syncNow,
    notices() {
      const { listen, allowRemote } = settings.web();
      if (listen.kind === 'none') return [];
      const where = formatAddress(listen);
      const what = 'The dashboard';
      if (isTooFar(listen, allowRemote)) return [remoteNotice({ what, where, setting: 'web.allow_remote' })];
      const instead = `nclust web --listen ${formatAddress({ ...listen, port: 0 })}`;
      return problem === null ? [] : [unservedNotice({ what, where, reason: problem, instead })];
    },
    close() {
      stop();
      return inTurn(shut);
    },
  };

  /**
   * @param {NonNullable<typeof open>} served
   * @param {number[]} takenPorts
   * @returns {WebState}
   */
  function shown({ dashboard: { address }, token, mayAct }, takenPorts) {
    const { host, port } = address;
    return {
      isOn: true,
      url: `http://${formatAddress({ host: reachableHost(host), port })}/#token=${token}`,
      host,
      port,
      mayAct,
      isRemote: !isLoopback(address),
      takenPorts,
    };
  }
}
