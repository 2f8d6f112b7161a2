import { createKeeperLink, KeeperLost } from './link.js';
import { createListenerCopies } from './listener-copies.js';
import { tell } from './tell.js';

/** @import { Installation } from '../update/installation.js' */
/** @import { ChildSnapshot, Port, Snapshot } from './link.js' */
/** @import { LoopContext } from './tell.js' */

/** How long after a failed launch of a keeper the session tries again, in ms. */
const RELAUNCH_MS = 1_000;

/**
 * The owner loop, as far as the session knows it.
 * @typedef {object} Loop
 * @property {() => Promise<{ snapshot: Snapshot, orphans: ChildSnapshot[] }>} introduce  Has the first
 *   conversation with a keeper, over the link of the core. Rejects with KeeperLost.
 * @property {(snapshot: Snapshot, orphans: ChildSnapshot[]) => void} onMet  Adopts what runs.
 * @property {() => void} onLost  Forgets what the keeper reported, and holds.
 * @property {(event: string, data: any) => void} onEvent  Of the keeper, except for its listeners.
 * @property {() => void} hold  Lets events wait.
 * @property {() => void} resume  Handles the events that wait.
 */

/**
 * Control's relation to its keeper. It outlives each keeper, and decides nothing about apps.
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
  /** Clients can connect, which the next keeper has to know too. */
  #isReady = false;
  /** No further keeper is launched. */
  #isOver = false;
  /**
   * The installation that the next keeper is started from. Null: our own.
   * @type {Installation | null}
   */
  #successor = null;
  /** @type {{ resolve: () => void, reject: (error: unknown) => void }[]} */
  #waitingForNext = [];
  /** One at a time. @type {Promise<void> | null} */
  #exchange = null;

  /**
   * @param {LoopContext} context  The session sets its link.
   * @param {Loop} loop
   */
  constructor(context, loop) {
    this.#context = context;
    this.#loop = loop;
  }

  /** The keeper as it was when the session met it. */
  get snapshot() {
    return this.#snapshot;
  }

  /**
   * @param {Port} port  To the first keeper.
   * @returns {Promise<void>}  Resolves when this keeper or, if it dies before that, a later one is
   *   met.
   */
  async meet(port) {
    try {
      return await this.#meet(port);
    } catch (error) {
      if (!(error instanceof KeeperLost)) throw error;
    }
    // The session goes on trying to start one, and has logged why it could not.
    for (let isMet = false; !isMet;)
      isMet = await this.waitForNext().then(
        () => true,
        () => false,
      );
  }

  /** Reports to this keeper, and to each that follows, that clients can connect. */
  announceReady() {
    this.#isReady = true;
    tell(this.#context, 'control-ready', { isAnswering: true });
  }

  /**
   * @param {string} verb
   * @param {object} params
   * @returns {Promise<any>}  Rejects with a KeeperRefusal or a KeeperLost.
   */
  async request(verb, params) {
    if (!this.#context.link) throw new KeeperLost();
    return this.#context.link.request(verb, params);
  }

  /**
   * @returns {Promise<void>}  Resolves when the next keeper is met. Rejects when none can be
   *   started from our own installation; the session goes on trying.
   */
  waitForNext() {
    return new Promise((resolve, reject) => {
      this.#waitingForNext.push({ resolve, reject });
    });
  }

  /**
   * @param {Installation} successor
   * @returns {Promise<void>}  As waitForNext(). Rejects with a KeeperRefusal when this keeper does
   *   not make way, with a KeeperLost when there is none at the moment.
   */
  exchange(successor) {
    this.#exchange ??= this.#abdicate(successor).finally(() => {
      this.#exchange = null;
    });
    return this.#exchange;
  }

  /** Has the keeper exit too: this session is over. */
  leave() {
    this.#isOver = true;
    return this.#context.link?.request('leave', {});
  }

  /** Stops listening to the keeper, which lives on. Idempotent. */
  close() {
    this.#isOver = true;
    this.#context.link?.close();
  }

  /**
   * @param {Port} port
   * @returns {Promise<void>}  Rejects with KeeperLost when this keeper dies before the introduction
   *   is over; #meetNext() has begun then.
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
    this.#loop.hold(); // A keeper that is about to leave loses what it is asked for.
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
   * The keeper died; its children live on. The next one gets the sockets before anything else, so
   * that no connection is refused.
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
      if (error instanceof KeeperLost) return; // Its own loss has started the next attempt.
      parts.managerLog('keeper-launch-failed', { message: /** @type {Error} */ (error).message });
      parts.clock.after(RELAUNCH_MS, () => void this.#meetNext());
      if (!successor) for (const { reject } of this.#waitingForNext.splice(0)) reject(error);
    }
  }
}
