import { createKeeperLink, KeeperLost } from './link.js';
import { createListenerCopies } from './listener-copies.js';
import { tell } from './tell.js';

/** @import { Installation } from '../update/installation.js' */
/** @import { ChildSnapshot, Port, Snapshot } from './link.js' */
/** @import { LoopContext } from './tell.js' */

const RELAUNCH_MS = 1_000;

/**
 * @typedef {object} Loop
 * @property {() => Promise<{ snapshot: Snapshot, orphans: ChildSnapshot[] }>} introduce
 *   Exchanges state with the keeper of the link. Rejects with KeeperLost.
 * @property {(snapshot: Snapshot, orphans: ChildSnapshot[]) => void} onMet
 * @property {() => void} onLost  Drops events of the old keeper, and holds later events.
 * @property {(event: string, data: any) => void} onEvent  Not called for 'listener', 'released'
 *   and 'ping', which the session handles.
 * @property {() => void} hold
 * @property {() => void} resume
 */

/**
 * Connects control to its keeper, and after the death of this keeper to the next keeper. Decides
 * nothing about apps.
 *
 *     meet -----> link -> introduce -> onMet
 *                                        |  the keeper dies
 *     exchange -> hold -> abdicate ----> onLost -> launch the next -> give it the listeners -> meet
 *                            |
 *                            +-- refused -> resume
 */
export class KeeperSession {
  #context;
  #loop;
  #listenerCopies = createListenerCopies();
  /** @type {Snapshot | null} */
  #snapshot = null;
  #isReady = false;
  #isOver = false;
  /**
   * Installation of the next keeper. Null: the present installation.
   * @type {Installation | null}
   */
  #successor = null;
  /** @type {{ resolve: () => void, reject: (error: unknown) => void }[]} */
  #waitingForNext = [];
  /** @type {Promise<void> | null} */
  #exchange = null;

  /**
   * @param {LoopContext} context  The session sets `context.link`.
   * @param {Loop} loop
   */
  constructor(context, loop) {
    this.#context = context;
    this.#loop = loop;
  }

  get snapshot() {
    return this.#snapshot;
  }

  /**
   * @param {Port} port
   * @returns {Promise<void>}  Resolves when control has connected to this keeper or to a later
   *   keeper.
   */
  async meet(port) {
    try {
      return await this.#meet(port);
    } catch (error) {
      if (!(error instanceof KeeperLost)) throw error;
    }
    // Waits for a keeper. The session retries to start a keeper, and logs each failure.
    for (let isMet = false; !isMet;)
      isMet = await this.waitForNext().then(
        () => true,
        () => false,
      );
  }

  /** Reports to this keeper, and to all later keepers, that control is ready. */
  announceReady() {
    this.#isReady = true;
    tell(this.#context, 'control-ready', { isAnswering: true });
  }

  /**
   * @param {string} verb
   * @param {object} params
   * @returns {Promise<any>}
   */
  async request(verb, params) {
    if (!this.#context.link) throw new KeeperLost();
    return this.#context.link.request(verb, params);
  }

  /**
   * @returns {Promise<void>}  Resolves when control has connected to the next keeper. Rejects if a
   *   keeper from the present installation does not start, but the session retries.
   */
  waitForNext() {
    return new Promise((resolve, reject) => {
      this.#waitingForNext.push({ resolve, reject });
    });
  }

  /**
   * @param {Installation} successor
   * @returns {Promise<void>}  Like waitForNext(), but also rejects with KeeperRefusal or
   *   KeeperLost.
   */
  exchange(successor) {
    this.#exchange ??= this.#abdicate(successor).finally(() => {
      this.#exchange = null;
    });
    return this.#exchange;
  }

  /** Asks the keeper to exit, and ends this session. */
  leave() {
    this.#isOver = true;
    return this.#context.link?.request('leave', {});
  }

  close() {
    this.#isOver = true;
    this.#context.link?.close();
  }

  /**
   * @param {Port} port
   * @returns {Promise<void>}  Rejects with KeeperLost if the keeper dies. In this case #meetNext()
   *   runs.
   */
  async #meet(port) {
    this.#context.link = createKeeperLink(port, {
      onEvent: (event, data, handle) => this.#onEvent(event, data, handle),
      onLost: () => void this.#meetNext(),
    });
    const { snapshot, orphans } = await this.#loop.introduce();
    this.#snapshot = snapshot;
    this.#loop.onMet(snapshot, orphans);
  }

  /** @param {Installation} successor */
  async #abdicate(successor) {
    const { link } = this.#context;
    if (!link) throw new KeeperLost();
    this.#successor = successor;
    // Holds events, because a keeper that is about to exit would lose the requests that follow from
    // them.
    this.#loop.hold();
    try {
      await link.request('abdicate', {});
    } catch (error) {
      if (error instanceof KeeperLost) return this.waitForNext();
      this.#successor = null;
      this.#loop.resume();
      throw error;
    }
    return this.waitForNext();
  }

  /**
   * @param {string} event
   * @param {any} data
   * @param {unknown} handle
   */
  #onEvent(event, data, handle) {
    if (event === 'listener') this.#listenerCopies.keep(data, handle);
    else if (event === 'released') this.#listenerCopies.drop(data.key);
    else if (event === 'ping') tell(this.#context, 'pong', {});
    else this.#loop.onEvent(event, data);
  }

  /**
   * Starts the next keeper and connects to it. Sends the sockets to the keeper first, so that no
   * connection is refused.
   */
  async #meetNext() {
    const { parts } = this.#context;
    this.#context.link = null;
    this.#loop.onLost();
    if (this.#isOver) return;
    parts.managerLog('keeper-lost');
    const successor = this.#successor;
    this.#successor = null;
    try {
      const port = await parts.launchKeeper(successor);
      await this.#listenerCopies.handOver(port);
      await this.#meet(port);
      parts.managerLog('keeper-met', { pid: this.#snapshot?.pid, version: this.#snapshot?.version });
      if (this.#isReady) this.announceReady();
      for (const { resolve } of this.#waitingForNext.splice(0)) resolve();
    } catch (error) {
      // The link has already started the next attempt with onLost().
      if (error instanceof KeeperLost) return;
      parts.managerLog('keeper-launch-failed', { message: /** @type {Error} */ (error).message });
      parts.clock.after(RELAUNCH_MS, () => void this.#meetNext());
      if (!successor) for (const { reject } of this.#waitingForNext.splice(0)) reject(error);
    }
  }
}
