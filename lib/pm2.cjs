'use strict';

// PM2's programmatic API. A CommonJS file, because most programs that use it require() it; what
// does the work is read at the first call.

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

/** One home. Its methods may be taken off it: `const { connect, list } = require('nclust/pm2')`. */
class Pm2 {
  /**
   * @param {object} [o]
   * @param {string} [o.pm2_home]  Default: NCLUST_HOME, else ~/.nclust.
   * @param {string} [o.cwd]  From where relative paths count. Default: the working directory.
   * @param {boolean} [o.independent]  A home of its own, that destroy() removes.
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
        settle(args, async (rest) => (await load()).call(word, rest));
    }
    /** @type {any} */ (this).custom = Pm2;
  }
}

/**
 * With a callback it is called once, later, and what it throws is not taken for an error of the
 * call. Without one there is a promise.
 * @param {unknown[]} args
 * @param {(rest: unknown[]) => Promise<any>} work
 */
function settle(args, work) {
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
