import { fileURLToPath } from 'node:url';
import { endManager } from '../client/end-manager.js';
import { checkKey, withKey } from '../shared/settings/settings.js';
import { applyGiven, beginAgain, endApps, readTargets, startGiven } from './changes.js';
import { createSubscription } from './follow.js';

/** @import { ShownSetting } from '../shared/settings/settings.js' */
/** @import { Hello, LogEntry, Method, SlotStatus } from '../shared/wire/protocol.js' */
/** @import { TriggerReply } from '../shared/wire/protocol.js' */
/** @import { CallOptions, Calls, ChangeOptions } from './calls.js' */
/** @import { Choice, Targets } from './changes.js' */
/** @import { Beginning, LogWishes, Subscription } from './follow.js' */

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/**
 * The manager of one home, for a program. Every call rejects with a NclustError or resolves, in its
 * time; lib/index.d.ts has the shapes.
 * @implements {Omit<import('../index.js').Nclust, typeof Symbol.asyncDispose>}
 */
export class Nclust {
  #calls;
  #onWarning;

  /** @type {Set<Subscription<any>>} */
  #subscriptions = new Set();

  /**
   * @param {Calls} calls
   * @param {(sentence: string) => void} onWarning
   */
  constructor(calls, onWarning) {
    this.#calls = calls;
    this.#onWarning = onWarning;
  }

  get home() {
    return this.#calls.home;
  }

  /**
   * @param {CallOptions} [o]
   * @returns {Promise<Hello>}
   */
  hello(o = {}) {
    return this.#calls.question('hello', o, (ask) => ask('hello'));
  }

  /**
   * @param {CallOptions} [o]
   * @returns {Promise<number>}  How long the answer took, in ms.
   */
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
    return this.#calls.question(
      'list',
      o,
      async (ask) =>
        (await ask('list', targets === undefined ? {} : { targets: await readTargets(targets, ask) })).slots,
    );
  }

  /**
   * @param {Targets} targets
   * @param {CallOptions} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  describe(targets, o = {}) {
    return this.#calls.question(
      'describe',
      o,
      async (ask) => (await ask('list', { targets: await readTargets(targets, ask), detail: true })).slots,
    );
  }

  /**
   * @param {string | number} target
   * @param {CallOptions} [o]
   * @returns {Promise<Record<string, string>>}
   */
  env(target, o = {}) {
    return this.#calls.question(
      'env',
      o,
      async (ask) =>
        (await ask('list', { targets: await readTargets(target, ask), detail: true })).slots[0]?.effectiveEnv ?? {},
    );
  }

  /**
   * @param {unknown} what
   * @param {ChangeOptions & Record<string, any>} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  start(what, o = {}) {
    const { timeoutMs, signal, wait, onProgress, ...words } = o;
    return this.#calls.call('start', { timeoutMs, signal, wait, onProgress }, (ask) =>
      startGiven(ask, what, { ...words, onWarning: this.#onWarning }),
    );
  }

  /**
   * @param {unknown} what
   * @param {ChangeOptions & Choice} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  stop(what, o = {}) {
    return this.#calls.call('stop', o, (ask) => endApps(ask, 'stop', what, o));
  }

  /**
   * @param {unknown} what
   * @param {ChangeOptions & Choice} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  delete(what, o = {}) {
    return this.#calls.call('delete', o, (ask) => endApps(ask, 'delete', what, o));
  }

  /**
   * @param {unknown} what
   * @param {ChangeOptions & Choice & { updateEnv?: boolean }} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  restart(what, o = {}) {
    return this.#calls.call('restart', o, (ask) =>
      beginAgain(ask, 'restart', what, { ...o, onWarning: this.#onWarning }),
    );
  }

  /**
   * @param {unknown} what
   * @param {ChangeOptions & Choice & { updateEnv?: boolean }} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  reload(what, o = {}) {
    return this.#calls.call('reload', o, (ask) =>
      beginAgain(ask, 'reload', what, { ...o, onWarning: this.#onWarning }),
    );
  }

  /**
   * @param {unknown} what
   * @param {ChangeOptions & Choice & { prune?: boolean, updateEnv?: boolean, dryRun?: boolean }}
   *   [o]
   */
  apply(what, o = {}) {
    return this.#calls.call('apply', o, (ask) => applyGiven(ask, what, { ...o, onWarning: this.#onWarning }));
  }

  /**
   * @param {string | number} target
   * @param {string | number} instances
   * @param {ChangeOptions} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  scale(target, instances, o = {}) {
    return this.#calls.call(
      'scale',
      o,
      async (ask) =>
        (await ask('scale', { target: (await readTargets(target, ask))[0], instances: String(instances) })).slots,
    );
  }

  /**
   * @param {Targets} targets
   * @param {CallOptions} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  reset(targets, o = {}) {
    return this.#calls.call(
      'reset',
      o,
      async (ask) => (await ask('reset', { targets: await readTargets(targets, ask) })).slots,
    );
  }

  /**
   * @param {Targets} targets
   * @param {string | number} signal
   * @param {CallOptions} [o]
   * @returns {Promise<SlotStatus[]>}
   */
  signal(targets, signal, o = {}) {
    return this.#calls.call(
      'signal',
      o,
      async (ask) => (await ask('signal', { targets: await readTargets(targets, ask), signal: String(signal) })).slots,
    );
  }

  /**
   * @param {string | number} target
   * @param {string} line
   * @param {CallOptions} [o]
   */
  send(target, line, o = {}) {
    return this.#calls.call(
      'send',
      o,
      async (ask) =>
        (await ask('sendInput', { target: (await readTargets(target, ask))[0], input: `${line}\n` })).slots,
    );
  }

  /**
   * @param {Targets} targets
   * @param {unknown} message
   * @param {CallOptions} [o]
   */
  sendMessage(targets, message, o = {}) {
    return this.#calls.call(
      'sendMessage',
      o,
      async (ask) => (await ask('sendMessage', { targets: await readTargets(targets, ask), message })).slots,
    );
  }

  /**
   * @param {Targets} targets
   * @param {string} action
   * @param {unknown} [params]
   * @param {CallOptions & { replyMs?: number }} [o]
   * @returns {Promise<TriggerReply[]>}
   */
  trigger(targets, action, params, o = {}) {
    const { replyMs } = o;
    return this.#calls.call(
      'trigger',
      o,
      async (ask) =>
        (
          await ask('trigger', {
            targets: await readTargets(targets, ask),
            action,
            params,
            ...(replyMs === undefined ? {} : { timeoutMs: replyMs }),
          })
        ).replies,
    );
  }

  /**
   * @param {string | number} target
   * @param {CallOptions & { stop?: boolean }} [o]
   */
  inspect(target, o = {}) {
    return this.#calls.call('inspect', o, async (ask) => {
      const { slot, url, was } = await ask('inspect', {
        target: (await readTargets(target, ask))[0],
        stop: o.stop === true,
      });
      return { slot, url, was };
    });
  }

  /**
   * @param {CallOptions & { force?: boolean }} [o]
   * @returns {Promise<{ file: string, apps: number }>}
   */
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

  /**
   * @param {Targets} [targets]
   * @param {CallOptions} [o]
   * @returns {Promise<{ path: string, bytes: number }[]>}
   */
  flush(targets, o = {}) {
    return this.#calls.call(
      'flush',
      o,
      async (ask) =>
        (await ask('flush', targets === undefined ? {} : { targets: await readTargets(targets, ask) })).files,
    );
  }

  /** @param {CallOptions} [o] */
  reloadLogs(o = {}) {
    return this.#calls.call('reloadLogs', o, async (ask) => void (await ask('reloadLogs')));
  }

  /**
   * @param {string | undefined} [key]
   * @param {CallOptions} [o]
   * @returns {Promise<ShownSetting[]>}
   */
  get(key, o = {}) {
    return this.#calls.question('get', o, async (ask) => {
      if (key !== undefined) checkKey(key);
      const { settings } = await ask('settings');
      return key === undefined ? settings : withKey(settings, key);
    });
  }

  /**
   * @param {string} key
   * @param {string | number} value
   * @param {CallOptions} [o]
   * @returns {Promise<ShownSetting[]>}
   */
  set(key, value, o = {}) {
    return this.#calls.call('set', o, async (ask) =>
      withKey((await ask('set', { key, value: String(value) })).settings, key),
    );
  }

  /**
   * @param {string} key
   * @param {CallOptions} [o]
   * @returns {Promise<ShownSetting[]>}
   */
  unset(key, o = {}) {
    return this.#calls.call('unset', o, async (ask) => withKey((await ask('unset', { key })).settings, key));
  }

  /**
   * @param {ChangeOptions} [o]
   * @returns {Promise<{ slots: SlotStatus[], manager: Hello }>}  The manager is that of this
   *   installation then.
   */
  update(o = {}) {
    return this.#calls.call('update', o, (ask) =>
      ask('update', { root: ROOT, node: process.execPath, nodeVersion: process.version }),
    );
  }

  /**
   * @param {CallOptions} [o]
   * @returns {Promise<{ wasRunning: boolean }>}
   */
  kill(o = {}) {
    return this.#calls.call('kill', o, (_, signal) => endManager(this.#calls.home, signal));
  }

  /**
   * @param {{ types?: string[], signal?: AbortSignal, onMissed?: (count: number | null) => void }}
   *   [o]
   * @returns {Subscription<any>}
   */
  events({ types, signal, onMissed = () => {} } = {}) {
    return this.#follow(async function* follow(home, beginning) {
      const { followEvents } = await import('./follow.js');
      yield* followEvents(home, { types, onMissed }, beginning);
    }, signal);
  }

  /**
   * @param {LogWishes & { signal?: AbortSignal }} [o]
   * @returns {Subscription<LogEntry>}
   */
  logs({ signal, ...wishes } = {}) {
    return this.#follow(async function* follow(home, beginning) {
      const { followLogs } = await import('./follow.js');
      yield* followLogs(home, wishes, beginning);
    }, signal);
  }

  /**
   * Any method of docs/protocol.md.
   * @param {Method} method
   * @param {Record<string, unknown>} [params]
   * @param {ChangeOptions} [o]
   * @returns {Promise<any>}
   */
  request(method, params = {}, o = {}) {
    return this.#calls.call('request', o, (ask) => ask(method, params));
  }

  /**
   * @returns {Promise<void>}  Idempotent. What is under way rejects with ERR_NCLUST_CLOSED;
   *   iterators end.
   */
  async close() {
    for (const subscription of this.#subscriptions) void subscription.return();
    this.#subscriptions.clear();
    await this.#calls.close();
  }

  /**
   * @template T
   * @param {(home: string, o: Beginning) => AsyncGenerator<T, void, void>} follow
   * @param {AbortSignal} [signal]
   */
  #follow(follow, signal) {
    const subscription = createSubscription((o) => follow(this.#calls.home, o), {
      signal,
      onEnd: () => void this.#subscriptions.delete(subscription),
    });
    this.#subscriptions.add(subscription);
    return subscription;
  }
}

// Node 20 before 20.5 has no such symbol.
if (Symbol.asyncDispose)
  Object.defineProperty(Nclust.prototype, Symbol.asyncDispose, { value: Nclust.prototype.close });
