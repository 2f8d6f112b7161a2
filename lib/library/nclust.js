// Knows: what programs can do with a manager: the class Nclust, its calls, its subscriptions.
// Must not: print, exit, or keep an idle process alive.
// Start at: class Nclust, then calls.js and follow.js; lib/index.d.ts has the shapes.
import { fileURLToPath } from 'node:url';
import { endManager } from '../client/end-manager.js';
import { checkKey, selectKey } from '../shared/settings/rules.js';
import {
  applySpecs,
  isConfig,
  isListed,
  requestForTargets,
  requestForTarget,
  restartOrReload,
  stopOrDelete,
  readTargets,
  startSpecs,
} from './changes.js';
import { createSubscription, followEvents, followLogs } from './follow.js';

/** @import { Nclust as Api } from '../index.js' */
/** @import { Method, SlotStatus } from '../shared/wire/protocol.js' */
/** @import { CallOptions, Calls, ChangeOptions } from './calls.js' */
/** @import { ConfigSelection, RestartChoice, Targets } from './changes.js' */
/** @import { SubscriptionHooks, Subscription } from './follow.js' */

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/**
 * Each call resolves, or rejects with a NclustError, within its time limit (see lib/index.d.ts).
 * @implements {Omit<Api, typeof Symbol.asyncDispose>}
 */
export class Nclust {
  #calls;

  /** @type {Set<Subscription<any>>} */
  #subscriptions = new Set();

  /** @param {Calls} calls */
  constructor(calls) {
    this.#calls = calls;
  }

  get home() {
    return this.#calls.home;
  }

  /** @type {Api['hello']} */
  hello(o = {}) {
    return this.#calls.question('hello', o, (ask) => ask('hello'));
  }

  /** @type {Api['ping']} */
  ping(o = {}) {
    return this.#calls.question('ping', o, async (ask) => {
      const askedMono = performance.now();
      await ask('hello');
      return performance.now() - askedMono;
    });
  }

  /**
   * @param {Targets} [targets]
   * @param {CallOptions} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  list(targets, o = {}) {
    return this.#calls.question('list', o, async (ask) =>
      targets === undefined ? (await ask('list')).slots : requestForTargets(ask, 'list', targets),
    );
  }

  /**
   * @param {Targets} targets
   * @param {CallOptions} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  describe(targets, o = {}) {
    return this.#calls.question('describe', o, (ask) => requestForTargets(ask, 'list', targets, { detail: true }));
  }

  /** @type {Api['troubles']} */
  troubles(targets, o = {}) {
    return this.#calls.question('troubles', o, async (ask) => {
      const asked = targets === undefined ? {} : { targets: await readTargets(targets, ask) };
      return (await ask('troubles', asked)).troubles;
    });
  }

  /** @type {Api['env']} */
  env(target, o = {}) {
    return this.#calls.question('env', o, async (ask) => {
      const [slot] = await requestForTargets(ask, 'list', target, { detail: true });
      return slot?.effectiveEnv ?? {};
    });
  }

  /**
   * @param {string} target
   * @returns {Promise<boolean>}  False: start() would take it for a script or a config file.
   */
  isListed(target) {
    return this.#calls.question('isListed', {}, async (ask) => !isConfig(target) && isListed(ask, target));
  }

  /**
   * @param {unknown} what
   * @param {ChangeOptions & Record<string, any>} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  start(what, o = {}) {
    const { timeoutMs, signal, wait, onProgress, ...words } = o;
    return this.#calls.call('start', { timeoutMs, signal, wait, onProgress }, (ask) => startSpecs(ask, what, words));
  }

  /**
   * @param {unknown} what
   * @param {ChangeOptions & ConfigSelection} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  stop(what, o = {}) {
    return this.#calls.call('stop', o, (ask) => stopOrDelete(ask, 'stop', what, o));
  }

  /**
   * @param {unknown} what
   * @param {ChangeOptions & ConfigSelection} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  delete(what, o = {}) {
    return this.#calls.call('delete', o, (ask) => stopOrDelete(ask, 'delete', what, o));
  }

  /**
   * @param {unknown} what
   * @param {ChangeOptions & RestartChoice} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  restart(what, o = {}) {
    return this.#calls.call('restart', o, (ask) => restartOrReload(ask, 'restart', what, o));
  }

  /**
   * @param {unknown} what
   * @param {ChangeOptions & RestartChoice} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  reload(what, o = {}) {
    return this.#calls.call('reload', o, (ask) => restartOrReload(ask, 'reload', what, o));
  }

  /**
   * @param {Targets} targets
   * @param {ChangeOptions} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  rollback(targets, o = {}) {
    return this.#calls.call('rollback', o, (ask) => requestForTargets(ask, 'rollback', targets));
  }

  /** @type {Api['apply']} */
  apply(what, o = {}) {
    return this.#calls.call('apply', o, (ask) => applySpecs(ask, what, o));
  }

  /**
   * @param {string | number} target
   * @param {string | number} instances
   * @param {ChangeOptions} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  scale(target, instances, o = {}) {
    return this.#calls.call('scale', o, (ask) =>
      requestForTarget(ask, 'scale', target, { instances: String(instances) }),
    );
  }

  /**
   * @param {Targets} targets
   * @param {CallOptions} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  reset(targets, o = {}) {
    return this.#calls.call('reset', o, (ask) => requestForTargets(ask, 'reset', targets));
  }

  /**
   * @param {Targets} targets
   * @param {string | number} signal
   * @param {CallOptions} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  signal(targets, signal, o = {}) {
    return this.#calls.call('signal', o, (ask) =>
      requestForTargets(ask, 'signal', targets, { signal: String(signal) }),
    );
  }

  /** @type {Api['send']} */
  send(target, line, o = {}) {
    return this.#calls.call('send', o, (ask) => requestForTarget(ask, 'sendInput', target, { input: `${line}\n` }));
  }

  /** @type {Api['sendMessage']} */
  sendMessage(targets, message, o = {}) {
    return this.#calls.call('sendMessage', o, (ask) => requestForTargets(ask, 'sendMessage', targets, { message }));
  }

  /** @type {Api['trigger']} */
  trigger(targets, action, params, o = {}) {
    return this.#calls.call('trigger', o, async (ask) => {
      const request = { targets: await readTargets(targets, ask), action, params, timeoutMs: o.replyMs };
      return (await ask('trigger', request)).replies;
    });
  }

  /** @type {Api['inspect']} */
  inspect(target, o = {}) {
    return this.#calls.call('inspect', o, async (ask) => {
      const [one] = await readTargets(target, ask);
      const { slot, url, was } = await ask('inspect', { target: one, stop: o.stop === true });
      return { slot, url, was };
    });
  }

  /** @type {Api['save']} */
  save(o = {}) {
    return this.#calls.call('save', o, (ask) => ask('save', { force: o.force === true }));
  }

  /**
   * @param {ChangeOptions} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  resurrect(o = {}) {
    return this.#calls.call('resurrect', o, async (ask) => (await ask('resurrect')).slots);
  }

  /** @type {Api['flush']} */
  flush(targets, o = {}) {
    return this.#calls.call('flush', o, async (ask) => {
      const { files } = await ask('flush', targets === undefined ? {} : { targets: await readTargets(targets, ask) });
      return files;
    });
  }

  /** @type {Api['reloadLogs']} */
  reloadLogs(o = {}) {
    return this.#calls.call('reloadLogs', o, async (ask) => void (await ask('reloadLogs')));
  }

  /** @type {Api['get']} */
  get(key, o = {}) {
    return this.#calls.question('get', o, async (ask) => {
      if (key !== undefined) checkKey(key);
      const { settings } = await ask('settings');
      return key === undefined ? settings : selectKey(settings, key);
    });
  }

  /** @type {Api['set']} */
  set(key, value, o = {}) {
    return this.#calls.call('set', o, async (ask) =>
      selectKey((await ask('set', { key, value: String(value) })).settings, key),
    );
  }

  /** @type {Api['unset']} */
  unset(key, o = {}) {
    return this.#calls.call('unset', o, async (ask) => selectKey((await ask('unset', { key })).settings, key));
  }

  /** @type {Api['update']} */
  update(o = {}) {
    return this.#calls.call('update', o, (ask) =>
      ask('update', { root: ROOT, node: process.execPath, nodeVersion: process.version }),
    );
  }

  /** @type {Api['kill']} */
  kill(o = {}) {
    return this.#calls.call('kill', o, (_, signal) => endManager(this.#calls.home, { signal }));
  }

  /**
   * @param {{ types?: string[], signal?: AbortSignal, onMissed?: (count: number | null) => void }}
   *   [o]
   * @returns {Subscription<any>}
   */
  events({ types, signal, onMissed = () => {} } = {}) {
    return this.#follow((o) => followEvents(this.home, { types, onMissed }, o), signal);
  }

  /** @type {Api['logs']} */
  logs({ signal, ...options } = {}) {
    return this.#follow((o) => followLogs(this.#calls, options, o), signal);
  }

  /**
   * Sends any request of docs/protocol.md.
   * @param {Method} method
   * @param {Record<string, unknown>} [params]
   * @param {ChangeOptions} [o]
   */
  request(method, params = {}, o = {}) {
    return this.#calls.call('request', o, (ask) => ask(method, params));
  }

  /**
   * Idempotent. Pending calls reject with ERR_NCLUST_CLOSED, and iterators end.
   * @returns {Promise<void>}
   */
  async close() {
    for (const subscription of this.#subscriptions) void subscription.return();
    this.#subscriptions.clear();
    await this.#calls.close();
  }

  /**
   * @template T
   * @param {(o: SubscriptionHooks) => AsyncGenerator<T, void, void>} follow
   * @param {AbortSignal} [signal]
   */
  #follow(follow, signal) {
    const subscription = createSubscription(follow, {
      signal,
      onEnd: () => void this.#subscriptions.delete(subscription),
    });
    this.#subscriptions.add(subscription);
    return subscription;
  }
}

// Node.js before 20.5 does not have this symbol.
if (Symbol.asyncDispose)
  Object.defineProperty(Nclust.prototype, Symbol.asyncDispose, { value: Nclust.prototype.close });
