import { toPm2Env } from './calls.js';
import { escapeRegExp } from '../../shared/escape-reg-exp.js';

/** @import { LogEntry, ProcessInEvent } from '../../shared/wire/protocol.js' */
/** @import { BusEvent, Subscription } from '../follow.js' */
/** @import { Nclust } from '../nclust.js' */

/** @typedef {(...args: any[]) => void} Listener */
/**
 * @typedef {{ event: string, pattern: RegExp | null, listener: Listener, isOnce: boolean }} EventListener
 */

/** As in PM2, a listener of "log:*" gets the text that the star matches, then the event. */
export class PatternEmitter {
  /** @type {EventListener[]} */
  #entries = [];

  /** Called after a listener was added. */
  onAdded() {}

  /**
   * @param {string} event
   * @param {Listener} listener
   */
  on(event, listener) {
    return this.#add(event, listener, false);
  }

  /**
   * @param {string} event
   * @param {Listener} listener
   */
  once(event, listener) {
    return this.#add(event, listener, true);
  }

  /**
   * @param {string} event
   * @param {Listener} [listener]  Default: all listeners of the event.
   */
  off(event, listener) {
    this.#entries = this.#entries.filter(
      (one) => one.event !== event || (listener !== undefined && one.listener !== listener),
    );
    return this;
  }

  /** @param {string} [event]  Default: all. */
  removeAllListeners(event) {
    this.#entries = event === undefined ? [] : this.#entries.filter((one) => one.event !== event);
    return this;
  }

  /** @param {string} event */
  listeners(event) {
    return this.#matching(event).map(({ entry }) => entry.listener);
  }

  /**
   * If a listener throws, the error becomes an uncaught exception, and the bus continues.
   * @param {string} event
   * @param {unknown} data
   */
  emit(event, data) {
    const found = this.#matching(event);
    for (const { entry, stars } of found) {
      if (entry.isOnce) this.#entries = this.#entries.filter((one) => one !== entry);
      try {
        entry.listener.call(this, ...stars, data);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
    return found.length > 0;
  }

  /** @param {(event: string, data: unknown) => void} listener */
  onAny(listener) {
    return this.on('*', listener);
  }

  /** @param {(event: string, data: unknown) => void} [listener] */
  offAny(listener) {
    return this.off('*', listener);
  }

  /**
   * @param {string} event
   * @param {Listener} listener
   */
  addListener(event, listener) {
    return this.on(event, listener);
  }

  /**
   * @param {string} event
   * @param {Listener} listener
   */
  removeListener(event, listener) {
    return this.off(event, listener);
  }

  /**
   * @param {string} event
   * @param {Listener} listener
   * @param {boolean} isOnce
   */
  #add(event, listener, isOnce) {
    this.#entries.push({ event, pattern: compilePattern(event), listener, isOnce });
    this.onAdded();
    return this;
  }

  /** @param {string} event */
  #matching(event) {
    return this.#entries.flatMap((entry) => {
      if (!entry.pattern) return entry.event === event ? [{ entry, stars: /** @type {string[]} */ ([]) }] : [];
      const match = entry.pattern.exec(event);
      return match ? [{ entry, stars: match.slice(1) }] : [];
    });
  }
}

/** @param {string} event */
function compilePattern(event) {
  if (!event.includes('*')) return null;
  const parts = event.split(/\*+/).map(escapeRegExp);
  return new RegExp(`^${parts.join('(.+)')}$`);
}

export class Bus extends PatternEmitter {
  #events;
  #nclust;
  #isClosed = false;

  /** @type {Subscription<LogEntry> | null} */
  #logs = null;

  /** By app name. @type {Map<string, string>} */
  #namespaces = new Map();

  /** Emits "close" and "error" of the connection. */
  sock = new PatternEmitter();

  /** @param {Nclust} nclust */
  constructor(nclust) {
    super();
    this.#nclust = nclust;
    this.#events = nclust.events();
  }

  /** @returns {Promise<this>}  After the promise resolves, the bus misses no event. */
  async open() {
    await this.#events.ready;
    void this.#relay(this.#events, (event) => this.#emitEvent(event)).then(() => this.#onManagerExit());
    return this;
  }

  /** @returns {Promise<void>}  Resolves when the log subscription (if any) is active or failed. */
  async ready() {
    await this.#logs?.ready.catch(() => {}); // #relay() reports the error.
  }

  close() {
    this.#isClosed = true;
    void this.#events.return();
    void this.#logs?.return();
  }

  /**
   * Subscribes to log lines only if a listener needs them, because there may be many lines.
   * @override
   */
  onAdded() {
    if (this.#logs || this.#isClosed || !['log:out', 'log:err'].some((event) => this.listeners(event).length > 0))
      return;
    this.#logs = this.#nclust.logs({ follow: true, lines: 0 });
    void this.#relay(this.#logs, async ({ id, name, stream, line, atMs }) => {
      this.emit(`log:${stream}`, {
        process: { pm_id: id, name, rev: null, namespace: await this.#namespaceOf(name) },
        at: atMs ?? Date.now(),
        data: `${line}\n`,
      });
    });
  }

  /**
   * @template T
   * @param {AsyncIterable<T>} items
   * @param {(item: T) => Promise<unknown>} tell
   */
  async #relay(items, tell) {
    try {
      for await (const item of items) await tell(item);
    } catch (error) {
      this.sock.emit('error', error);
    }
  }

  /** @param {BusEvent} event */
  async #emitEvent({ type, at, process, isFromApp, ...said }) {
    if (!isFromApp) {
      this.#namespaces.set(process.name, process.namespace);
      return this.emit(type, {
        event: said.event,
        manually: said.manually,
        process: toPm2Env(/** @type {ProcessInEvent} */ (process)),
        at,
      });
    }
    const { name, id } = process;
    return this.emit(type, { at, ...said, process: { pm_id: id, name, namespace: await this.#namespaceOf(name) } });
  }

  #onManagerExit() {
    if (!this.#isClosed) this.emit('pm2:kill', { status: 'killed', msg: 'The manager has exited' });
    this.close();
    this.sock.emit('close', undefined);
  }

  /**
   * Asks the manager for the namespace of an unknown app, because a log line of the app may arrive
   * before its first event.
   * @param {string} name
   */
  async #namespaceOf(name) {
    if (!this.#namespaces.has(name)) {
      this.#namespaces.set(name, 'default');
      for (const slot of await this.#nclust.list()) this.#namespaces.set(slot.name, slot.namespace);
    }
    return this.#namespaces.get(name) ?? 'default';
  }
}
