import { NclustError } from '../../../lib/shared/errors.js';
import { createKeeperLink, KeeperLost } from './link.js';
import { createListenerCopies } from './listener-copies.js';
import { tell } from './tell.js';

/** @import { LoopContext } from '../context.js' */
/** @import { Installation } from '../update/installation.js' */
/** @import { ChildSnapshot, Port, Snapshot } from './link.js' */

const RELAUNCH_MS = 1_000;

/** At this number of silent looks, control asks the keeper, because another request may take long. */
const ASK_AFTER_CHECKS = 4;
/** Shorter than the time limit of `list` in the client, so that the client gets the reason. */
const SILENT_CHECKS_MAX = 8;

/**
 * @typedef {object} Loop
 * @property {() => Promise<{ snapshot: Snapshot, orphans: ChildSnapshot[] }>} compareWithKeeper
 *   Exchanges state with the keeper of the link. Rejects with KeeperLost.
 * @property {(snapshot: Snapshot, orphans: ChildSnapshot[]) => void} onMet
 * @property {(hasDied: boolean) => void} onLost  Drops events of the old keeper, and holds later
 *   events. `hasDied`: the keeper did not exit on purpose.
 * @property {(event: string, data: any) => void} onEvent  Not called for 'listener', 'released'
 *   and 'ping', which the session handles.
 * @property {() => void} hold
 * @property {() => void} resume
 */

/**
 * Connects control to its keeper, and after the death of this keeper to the next keeper. Decides
 * nothing about apps.
 *
 *     meet -----> link -> compareWithKeeper -> onMet
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
  /** Null: the present keeper has not introduced itself yet. @type {number | null} */
  #pid = null;
  #silentChecks = 0;
  #heard = 0;
  /** Why the last launch since the loss of the keeper failed. Empty: no launch has failed. */
  #launchError = '';
  /** Each function rejects a wait for the keeper. @type {Set<(error: NclustError) => void>} */
  #waits = new Set();

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
    return this.unlessSilent(this.#context.link.request(verb, params));
  }

  /** @returns {NclustError | null}  Not null: nothing can be started or stopped. */
  get trouble() {
    if (this.#silentChecks < SILENT_CHECKS_MAX) return null;
    const pid = this.#pid;
    const started = this.#launchError ? `cannot be started (${this.#launchError})` : 'has not started yet';
    const [what, next] = pid
      ? [`The keeper (pid ${pid}) does not answer`, `kill -9 ${pid}`]
      : [`The keeper has exited, and another one ${started}`, 'nclust update'];
    return new NclustError(
      'ERR_NCLUST_DAEMON_UNREACHABLE',
      `${what}, so nclust can neither start nor stop a process now. The apps keep running.`,
      { hint: `Changes are saved, and nclust makes them later. To get another keeper, run: ${next}` },
    );
  }

  /**
   * @template T
   * @param {Promise<T>} work
   * @returns {Promise<T>}  Also rejects if the keeper hangs, or cannot be started.
   */
  unlessSilent(work) {
    const { trouble } = this;
    // Promise.race() prefers `work` if it has settled already.
    if (trouble) return Promise.race([work, Promise.reject(trouble)]);
    return new Promise((resolve, reject) => {
      this.#waits.add(reject);
      void work.then(resolve, reject).finally(() => this.#waits.delete(reject));
    });
  }

  /**
   * Ends a keeper that hangs. Its successor takes over the processes, and can end them.
   * @template T
   * @param {Promise<T>} work
   * @returns {Promise<T>}
   */
  async insist(work) {
    try {
      return await this.unlessSilent(work);
    } catch (error) {
      const { parts } = this.#context;
      const pid = this.#pid;
      if (!this.trouble || pid === null) throw error;
      parts.managerLog('silent-keeper-killed', { pid });
      this.#silentChecks = 0;
      process.kill(pid, 'SIGKILL');
      return this.unlessSilent(work);
    }
  }

  /** Control calls this once a second. Counts looks, because the machine may have slept. */
  look() {
    const { link, parts } = this.#context;
    const heard = link?.heard() ?? 0;
    const isSilent = !link || (link.isWaiting() && heard === this.#heard);
    this.#heard = heard;
    if (!isSilent && this.trouble) parts.managerLog('keeper-answers', { pid: this.#snapshot?.pid });
    this.#silentChecks = isSilent ? this.#silentChecks + 1 : 0;
    // The loss is handled elsewhere.
    if (this.#silentChecks === ASK_AFTER_CHECKS) link?.request('sockets', {}).catch(() => {});
    if (this.#silentChecks !== SILENT_CHECKS_MAX) return;
    const trouble = /** @type {NclustError} */ (this.trouble);
    parts.managerLog('keeper-silent', { message: trouble.message });
    for (const reject of this.#waits) reject(trouble);
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
   * Replaces the keeper. As after the death of a keeper, no connection is refused, and every
   * process is replaced.
   * @param {Installation} successor  If the keeper of this installation does not start, control
   *   starts a keeper from the present installation.
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
    this.#silentChecks = 0;
    this.#context.link = createKeeperLink(port, {
      onEvent: (event, data, handle) => this.#onEvent(event, data, handle),
      onLost: () => void this.#meetNext(),
    });
    const { snapshot, orphans } = await this.#loop.compareWithKeeper();
    this.#snapshot = snapshot;
    this.#pid = snapshot.pid;
    this.#loop.onMet(snapshot, orphans);
  }

  /** @param {Installation} successor */
  async #abdicate(successor) {
    const { link } = this.#context;
    this.#successor = successor;
    if (!link) return this.waitForNext();
    // Holds events, because a keeper that is about to exit would lose the requests that follow from
    // them.
    this.#loop.hold();
    try {
      await this.unlessSilent(link.request('abdicate', {}));
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
    const { parts, link } = this.#context;
    if (link) {
      this.#silentChecks = 0;
      this.#launchError = '';
    }
    this.#context.link = null;
    this.#pid = null;
    this.#loop.onLost(link !== null && !this.#isOver && !this.#successor);
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
      this.#launchError = /** @type {Error} */ (error).message;
      parts.managerLog('keeper-launch-failed', { message: this.#launchError });
      parts.clock.after(RELAUNCH_MS, () => void this.#meetNext());
      if (!successor) for (const { reject } of this.#waitingForNext.splice(0)) reject(error);
    }
  }
}
