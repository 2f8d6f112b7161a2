'use strict';

// PM2's programmatic API. This file is CommonJS, because most programs load it with require(). It
// loads the implementation at the first call.

const { mkdtempSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join, resolve } = require('node:path');

const METHODS = [
  'connect',
  'disconnect',
  'close',
  'destroy',
  'start',
  'restart',
  'reload',
  'gracefulReload',
  'stop',
  'delete',
  'list',
  'jlist',
  'describe',
  'scale',
  'reset',
  'dump',
  'clearDump',
  'resurrect',
  'flush',
  'reloadLogs',
  'launchBus',
  'sendDataToProcessId',
  'msgProcess',
  'trigger',
  'sendLineToStdin',
  'sendSignalToProcessName',
  'sendSignalToProcessId',
  'getPID',
  'getProcessIdByName',
  'getVersion',
  'env',
  'ping',
  'update',
  'inspect',
  'serve',
  'killDaemon',
  'kill',
  'startup',
  'profile',
  'install',
  'uninstall',
  'attach',
  'get',
  'set',
  'multiset',
  'unset',
  'remote',
  'remoteV2',
];

/** @type {Record<string, string>} */
const SAME = { close: 'disconnect', kill: 'killDaemon' };

/**
 * PM2's API for one home. The methods also work without the object: `const { connect, list } =
 * require('nclust/pm2')`.
 */
class Pm2 {
  /**
   * @param {object} [o]
   * @param {string} [o.pm2_home]  Default: NCLUST_HOME, or ~/.nclust if that is not set.
   * @param {string} [o.cwd]  Base of relative paths. Default: the working directory.
   * @param {boolean} [o.independent]  A new home, which destroy() removes.
   */
  constructor({ pm2_home: given, cwd, independent = false } = {}) {
    const home = independent ? mkdtempSync(join(tmpdir(), 'nclust-')) : given && resolve(given);
    /** @type {Promise<{ call: (method: string, args: unknown[]) => Promise<any> }> | null} */
    let loading = null;
    const load = () =>
      (loading ??= import('./library/pm2/pm2.js').then(({ createPm2 }) =>
        createPm2({ home, cwd, isIndependent: independent }),
      ));
    for (const method of METHODS) {
      const word = SAME[method] ?? method;
      /** @type {any} */ (this)[method] = (/** @type {unknown[]} */ ...args) =>
        callBack(args, async (rest) => (await load()).call(word, rest));
    }
    /** @type {any} */ (this).custom = Pm2;
  }
}

/**
 * Runs `work`. If an argument is a function, calls this callback once, in a later tick. An error
 * that the callback throws does not reach `work`. Without a callback, returns a promise.
 * @param {unknown[]} args
 * @param {(rest: unknown[]) => Promise<any>} work
 */
function callBack(args, work) {
  const at = args.findIndex((one) => typeof one === 'function');
  if (at === -1) return work(args);
  const callback = /** @type {(...results: unknown[]) => void} */ (args[at]);
  work(args.slice(0, at)).then(
    (result) => process.nextTick(callback, null, result, ...(result?.sock ? [result.sock] : [])),
    (error) => process.nextTick(callback, error),
  );
  return undefined;
}

module.exports = new Pm2();
