import { createHearing, readAppMessage } from './app-channel/messages.js';
import { noteWishes } from './events/process-events.js';
import { tell } from './keeper-link/tell.js';
import { createEventBus, tellDeleted } from './events/bus.js';
import { allNames, EVENTS } from './handlers.js';
import { FACTS } from './loop/keeper-events.js';
import { createHandleKeep } from './keeper-link/listener-copies.js';
import { introduce } from './recovery/meet-keeper.js';
import { createKeeperLink, KeeperLost } from './keeper-link/link.js';
import { noteKey } from './state/slot-history.js';
import { NclustError } from '../../lib/shared/errors.js';
import { RECEIPTS_KEPT } from './requests/outcome.js';
import { createWaiters } from './requests/waiters.js';
import { memoryOf, newWorld } from './state/registry.js';

/** @import { Port, Snapshot } from './keeper-link/link.js' */
/** @import { ControlEvent, Core, Parts } from './keeper-link/tell.js' */
/** @import { Receipt } from './requests/outcome.js' */
/** @import { Change, Desired } from './state/desired.js' */
/** @import { World } from './state/registry.js' */
/** @import { Loaded } from './state/store.js' */
/** @import { Installation } from './update/installation.js' */

/** After a keeper could not be launched the next attempt is this much later, in ms. */
const RELAUNCH_MS = 1_000;

/**
 * The owner loop: takes events one at a time, updates the records, plans, and has the effects
 * carried out. Nothing else changes them.
 */
export class Control {
  /** @type {Core} */
  #core;
  /** @type {ControlEvent[]} */
  #queue = [];
  #isBusy = false;
  /** Events wait while the records of one keeper are exchanged for those of the next. */
  #isHeld = true;
  #waiters;
  #handles = createHandleKeep();
  #hearing = createHearing((isOn) => this.askKeeper('hear', { isOn }));
  /** @type {Snapshot | null} */
  #keeper = null;
  #isLeaving = false;
  /** Clients can connect. */
  #isOpen = false;
  /** @type {() => void} */
  #sayEnded = () => {};
  /** @type {Promise<void>} */
  #ended = new Promise((resolve) => {
    this.#sayEnded = resolve;
  });
  #isClosed = false;
  /** What follows from how things stand. @type {() => void} */
  #follow = () => {};
  /**
   * From where the next keeper is started, when it is to be another one.
   * @type {Installation | null}
   */
  #successor = null;
  /**
   * Who waits for the next keeper.
   * @type {{ resolve: () => void, reject: (error: unknown) => void }[]}
   */
  #expecting = [];
  /** One at a time. @type {Promise<void> | null} */
  #exchange = null;

  /**
   * @param {Parts} parts
   * @param {Loaded} loaded
   */
  constructor(parts, { desired, isExact, notices }) {
    this.#core = {
      parts,
      world: newWorld(desired),
      isExact,
      link: null,
      dispatch: (event) => this.dispatch(event),
      bus: createEventBus(parts.chronicle),
    };
    this.#waiters = createWaiters(this.world);
    for (const notice of notices) this.world.notices.add(notice);
  }

  /**
   * The records, for reading.
   * @returns {World}
   */
  get world() {
    return this.#core.world;
  }

  /** What happens, for whoever follows it. */
  get bus() {
    return this.#core.bus;
  }

  /** What apps say comes to the bus while somebody wants it. */
  get hearing() {
    return this.#hearing;
  }

  /** The keeper control works with, as it was when they met. */
  get keeper() {
    return this.#keeper;
  }

  /**
   * Meets a keeper: learns what runs, and begins to bring about what is wanted.
   * @param {Port} port
   * @returns {Promise<void>}  Rejects with KeeperLost when it died meanwhile; the next one is then
   *   on its way.
   */
  async meet(port) {
    this.#core.link = createKeeperLink(port, {
      onEvent: (event, data, handle) => this.#onKeeperEvent(event, data, handle),
      onLost: () => void this.#meetNext(),
    });
    const { snapshot, orphans } = await introduce(this.#core);
    this.#keeper = snapshot;
    this.#hearing.again();
    if (snapshot.isTerminating) this.world.ending ??= 'shutdown';
    this.#isHeld = false;
    this.#queue.unshift({
      type: 'adopted',
      children: [...snapshot.children, ...orphans],
      listeners: snapshot.listeners,
    });
    this.#drain();
  }

  /** @param {ControlEvent} event */
  dispatch(event) {
    this.#queue.push(event);
    this.#drain();
  }

  /**
   * @param {() => void} look  Called at the end of every turn, before anybody is answered:
   *   something may be wanted or may run that was not before.
   */
  follow(look) {
    this.#follow = look;
  }

  /** Tells the keeper that clients can connect. */
  announceReady() {
    this.#isOpen = true;
    tell(this.#core, 'control-ready', { isAnswering: true });
  }

  /**
   * Changes what is wanted. On disk before anything acts on it. A token that was seen changes
   * nothing.
   * @param {string} method
   * @param {string} token
   * @param {(desired: Desired) => Change & Pick<Receipt, 'about' | 'root' | 'plan'>} change
   * @returns {Receipt} Throws ERR_NCLUST_SHUTTING_DOWN, ERR_NCLUST_STATE_WRITE, and what `change`
   *   throws; then nothing has changed.
   */
  mutate(method, token, change) {
    const { parts, world } = this.#core;
    const seen = this.#find(token);
    if (seen) return seen;
    if (world.ending)
      throw new NclustError('ERR_NCLUST_SHUTTING_DOWN', `The manager is being ended and does not take "${method}".`, {
        hint: 'Run the command again in a moment.',
      });
    const before = world.desired;
    const { desired, up, gone, about, root, plan } = change(before);
    /** @type {Receipt} */
    const receipt = {
      token,
      method,
      up,
      gone,
      about,
      ...(root === undefined ? {} : { root }),
      ...(plan === undefined ? {} : { plan }),
    };
    const next = { ...desired, tokens: [...before.tokens, receipt].slice(-RECEIPTS_KEPT) };
    parts.store.save(next);
    world.desired = next;
    noteWishes(this.#core, before, next, method);
    tellDeleted(this.#core, before);
    this.dispatch({ type: 'changed', names: changedNames(before, next) });
    return receipt;
  }

  /**
   * Whether a request was taken already.
   * @param {string} token
   */
  hasSeen(token) {
    return this.#find(token) !== undefined;
  }

  /**
   * Waits until a mutation has come about.
   * @param {Receipt} receipt
   * @param {AbortSignal} [signal]  Ends the waiting: resolves then.
   * @param {() => void} [onLook]  Called whenever something may have changed meanwhile.
   * @returns {Promise<void>}  Rejects with ERR_NCLUST_NOT_UP at the first slot that definitely
   *   failed.
   */
  settled(receipt, signal, onLook) {
    const outcome = this.#waiters.add(receipt, signal, onLook);
    if (!this.#isHeld) this.#waiters.answer();
    return outcome;
  }

  /**
   * Nothing is wanted any more: everything is retired, then control and keeper leave.
   * @param {'kill' | 'shutdown'} by
   * @returns {Promise<void>}  Resolves just before they leave.
   */
  end(by) {
    if (!this.world.ending) this.#core.parts.journal('ending', { by });
    this.world.ending ??= by;
    this.dispatch({ type: 'changed', names: allNames(this.world) });
    return this.#ended;
  }

  /**
   * Zeroes the restart counters of a slot.
   * @param {number} id
   */
  reset(id) {
    const memory = memoryOf(this.world, id);
    memory.resetAt = memory.spawns;
    tell(this.#core, 'note', { key: noteKey(id), value: memory });
  }

  /**
   * Sends a signal to the process of a slot.
   * @param {number} id
   * @param {string} signal
   * @returns {Promise<void>}  Rejects with what the keeper says.
   */
  async signal(id, signal) {
    const { link, world } = this.#core;
    const instances = [...world.instances.values()].filter(
      (instance) => instance.label.id === id && !instance.exit && instance.pid > 0,
    );
    for (const instance of instances) {
      instance.signalledBy = `sendSignal ${signal}`;
      await link?.request('signal', { instanceId: instance.instanceId, signal });
    }
  }

  /**
   * A request to the keeper that changes no records.
   * @param {string} verb
   * @param {object} params
   * @returns {Promise<any>}  Rejects with a KeeperRefusal or a KeeperLost.
   */
  async askKeeper(verb, params) {
    if (!this.#core.link) throw new KeeperLost();
    return this.#core.link.request(verb, params);
  }

  /**
   * @returns {Promise<void>}  Resolves when control works with its next keeper. Rejects when none
   *   can be started from its own installation; it goes on trying.
   */
  meetsNext() {
    return new Promise((resolve, reject) => {
      this.#expecting.push({ resolve, reject });
    });
  }

  /**
   * Has the keeper make way for one of another installation, which takes over as after a death:
   * nothing is refused, and every process is replaced.
   * @param {Installation} successor  When its keeper does not come up, one of our own does.
   * @returns {Promise<void>}  Resolves when control works with the next keeper. Rejects with a
   *   KeeperRefusal when this one does not make way, with a KeeperLost when there is none just now.
   */
  exchangeKeeper(successor) {
    this.#exchange ??= this.#exchangeKeeper(successor).finally(() => {
      this.#exchange = null;
    });
    return this.#exchange;
  }

  /** @param {Installation} successor */
  async #exchangeKeeper(successor) {
    const { link } = this.#core;
    if (!link) throw new KeeperLost();
    this.#successor = successor;
    this.#isHeld = true; // What is asked of a keeper that is about to leave is lost.
    try {
      await link.request('abdicate', {});
    } catch (error) {
      if (error instanceof KeeperLost) return this.meetsNext();
      this.#successor = null;
      this.#isHeld = false;
      this.#drain();
      throw error;
    }
    return this.meetsNext();
  }

  /** Stops looking and acting. Whatever runs goes on. Idempotent. */
  close() {
    this.#isClosed = true;
    this.#isHeld = true;
    this.#core.link?.close();
    for (const seat of this.world.seats.values()) seat.cancelTimer();
    for (const window of this.world.windows.values()) window.cancel();
  }

  /** @param {string} token */
  #find(token) {
    return this.world.desired.tokens.find((receipt) => receipt.token === token);
  }

  #drain() {
    if (this.#isBusy || this.#isHeld) return;
    this.#isBusy = true;
    try {
      for (let event = this.#queue.shift(); event; event = this.#queue.shift()) EVENTS[event.type](this.#core, event);
    } finally {
      this.#isBusy = false;
    }
    this.#follow();
    this.world.touched.clear();
    this.#waiters.answer();
    this.#leaveWhenDone();
  }

  /**
   * @param {string} event
   * @param {any} data
   * @param {unknown} handle
   */
  #onKeeperEvent(event, data, handle) {
    if (event === 'listener') this.#handles.keep(data, handle);
    else if (event === 'released') this.#handles.drop(data.key);
    else if (event === 'ask') tell(this.#core, 'answer', {});
    else if (event === 'said' || event === 'missed') this.#onSaid(data);
    else if (event === 'terminating')
      void this.end('shutdown'); // Leaving is what follows.
    else if (Object.hasOwn(FACTS, event)) this.dispatch({ type: 'fact', event, data });
  }

  /**
   * @param {{ instanceId: string, text?: string, count?: number }} data  Of an app. It changes no
   *   records.
   */
  #onSaid({ instanceId, text, count = 1 }) {
    const { bus, world, parts } = this.#core;
    const label = world.instances.get(instanceId)?.label;
    if (!label || !bus.isFollowed) return;
    const process = { id: label.id, name: label.name, slot: label.slot, instanceId };
    const at = parts.clock.nowMs();
    const message =
      text === undefined ? /** @type {const} */ ({ type: 'process:missed', count }) : readAppMessage(text);
    if (message) bus.publish({ ...message, isFromApp: true, process, at });
  }

  /**
   * The keeper died: its children live on. The next one gets the sockets first, so that connections
   * are refused to nobody.
   */
  async #meetNext() {
    const { parts } = this.#core;
    this.#isHeld = true;
    this.#core.link = null;
    // Wishes count on; facts about the old keeper's instances are found anew.
    this.#queue = this.#queue.filter((event) => event.type === 'changed');
    if (this.#isClosed || this.#isLeaving) return;
    parts.journal('keeper-lost');
    const successor = this.#successor;
    this.#successor = null;
    try {
      const port = await parts.launchKeeper(successor);
      await this.#handles.handOver(port);
      await this.meet(port);
      parts.journal('keeper-met', { pid: this.#keeper?.pid, version: this.#keeper?.version });
      if (this.#isOpen) this.announceReady();
      for (const { resolve } of this.#expecting.splice(0)) resolve();
    } catch (error) {
      if (error instanceof KeeperLost) return; // Its own onLost has begun again.
      parts.journal('keeper-launch-failed', { message: /** @type {Error} */ (error).message });
      parts.clock.after(RELAUNCH_MS, () => void this.#meetNext());
      if (!successor) for (const { reject } of this.#expecting.splice(0)) reject(error);
    }
  }

  #leaveWhenDone() {
    const { world, parts, link } = this.#core;
    if (!world.ending || world.instances.size > 0 || this.#isLeaving) return;
    this.#isLeaving = true;
    const leave = () => {
      this.#sayEnded();
      parts.leave(0);
    };
    // The keeper may be gone before its answer is.
    link?.request('leave', {}).then(leave, leave);
  }
}

/**
 * @param {Desired} before
 * @param {Desired} after
 * @returns {string[]}
 */
function changedNames(before, after) {
  const old = new Set(before.apps);
  const now = new Set(after.apps);
  return [
    ...new Set(
      [...before.apps.filter((app) => !now.has(app)), ...after.apps.filter((app) => !old.has(app))].map(
        (app) => app.spec.name,
      ),
    ),
  ];
}
