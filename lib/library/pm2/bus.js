import { PatternEmitter } from './pattern-emitter.js';
import { toPm2Env } from './shapes.js';

/** @typedef {import('../nclust.js').Nclust} Nclust */
/** @typedef {import('../follow.js').BusEvent} BusEvent */

/**
 * PM2's bus: what happens to processes, what apps say, and their lines for who listens to "log:out", "log:err" or a pattern that means them.
 */
export class Bus extends PatternEmitter {
  #events;
  #nclust;
  #isClosed = false;

  /** @type {import('../subscription.js').Subscription<import('../../shared/wire/protocol.js').LogEntry>|null} */
  #logs = null;

  /** By name of the app. @type {Map<string, string>} */
  #namespaces = new Map();

  /** For who looks after the connection: "close". */
  sock = new PatternEmitter();

  /** @param {Nclust} nclust */
  constructor(nclust) {
    super();
    this.#nclust = nclust;
    this.#events = nclust.events();
  }

  /** @returns {Promise<this>}  From here on nothing is missed. */
  async open() {
    await this.#events.ready;
    void this.#relay(this.#events, (event) => this.#tell(event)).then(() => this.#leave());
    return this;
  }

  /** @returns {Promise<void>}  Lines are told from here on, where somebody listens to them. */
  async ready() {
    await this.#logs?.ready.catch(() => {}); // What went wrong ends the bus.
  }

  /** @override @param {string} event @param {(...args: any[]) => void} listener */
  on(event, listener) {
    super.on(event, listener);
    this.#heedLogs();
    return this;
  }

  /** @override @param {string} event @param {(...args: any[]) => void} listener */
  once(event, listener) {
    super.once(event, listener);
    this.#heedLogs();
    return this;
  }

  /** Idempotent. */
  close() {
    this.#isClosed = true;
    void this.#events.return();
    void this.#logs?.return();
  }

  /** Lines are many: they are asked for when somebody listens. */
  #heedLogs() {
    if (this.#logs || this.#isClosed || (this.listeners('log:out').length === 0 && this.listeners('log:err').length === 0)) return;
    this.#logs = this.#nclust.logs({ follow: true, lines: 0 });
    void this.#relay(this.#logs, async ({ id, name, stream, line, atMs }) => {
      this.emit(`log:${stream}`, { process: { pm_id: id, name, rev: null, namespace: await this.#namespaceOf(name) }, at: atMs ?? Date.now(), data: `${line}\n` });
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
  async #tell({ type, at, process, isFromApp, ...said }) {
    if (!isFromApp) {
      this.#namespaces.set(process.name, process.namespace);
      return this.emit(type, { event: said.event, manually: said.manually, process: toPm2Env(/** @type {import('../../shared/wire/protocol.js').ProcessInEvent} */ (process)), at });
    }
    const { name, id } = process;
    return this.emit(type, { at, ...said, process: { pm_id: id, name, namespace: await this.#namespaceOf(name) } });
  }

  #leave() {
    if (!this.#isClosed) this.emit('pm2:kill', { status: 'killed', msg: 'The manager has ended' });
    this.close();
    this.sock.emit('close', undefined);
  }

  /** An app says something before it is up, which would tell. @param {string} name */
  async #namespaceOf(name) {
    if (!this.#namespaces.has(name)) {
      this.#namespaces.set(name, 'default');
      for (const slot of await this.#nclust.list()) this.#namespaces.set(slot.name, slot.namespace);
    }
    return this.#namespaces.get(name) ?? 'default';
  }
}
