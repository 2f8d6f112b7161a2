import { adopt } from './adoption.js';
import { tell } from './core.js';
import { FACTS, forgetSlot, refused, spawned } from './facts.js';
import { createKeeperLink, KeeperLost } from './keeper-link.js';
import { noteKey, readNote, slotOfNote } from './memory.js';
import { NclustError } from '../../lib/shared/errors.js';
import { notUpError, outcomeOf, RECEIPTS_KEPT } from './requests.js';
import { reconcile } from './reconcile.js';
import { retireInstance } from './effects.js';
import { step } from './steps.js';
import { createHandleKeep } from './handle-keep.js';
import { takeOverOrphans } from './takeover.js';
import { memoryOf, newWorld } from './world.js';

/** @import { Change, Desired } from './desired.js' */
/** @import { ControlEvent, Core, Parts } from './core.js' */
/** @import { Port, Snapshot } from './keeper-link.js' */
/** @import { Receipt } from './requests.js' */
/** @import { World } from './world.js' */

/** @typedef {{receipt: Receipt, resolve: () => void, reject: (error: Error) => void}} Waiter */

/** The owner loop: takes events one at a time, updates the records, plans, and has the effects carried out. Nothing else changes them. */
export class Control {
  /** @type {Core} */
  #core;
  #isExact;
  /** @type {ControlEvent[]} */
  #queue = [];
  #isBusy = false;
  /** Events wait while the records of one keeper are exchanged for those of the next. */
  #isHeld = true;
  /** @type {Set<Waiter>} */
  #waiters = new Set();
  #handles = createHandleKeep();
  /** @type {Snapshot|null} */
  #keeper = null;
  #isLeaving = false;
  /** @type {() => void} */
  #sayEnded = () => {};
  /** @type {Promise<void>} */
  #ended = new Promise((resolve) => {
    this.#sayEnded = resolve;
  });
  #isClosed = false;

  /**
   * @param {Parts} parts
   * @param {import('./store.js').Loaded} loaded
   */
  constructor(parts, loaded) {
    this.#core = { parts, world: newWorld(loaded.desired), link: null, dispatch: (event) => this.dispatch(event) };
    this.#isExact = loaded.isExact;
    for (const notice of loaded.notices) this.#core.world.notices.add(notice);
  }

  /** The records, for reading. @returns {World} */
  get world() {
    return this.#core.world;
  }

  /** The keeper control works with, as it was when they met. */
  get keeper() {
    return this.#keeper;
  }

  /**
   * Meets a keeper: learns what runs, and begins to bring about what is wanted.
   * Rejects with KeeperLost when it died meanwhile.
   * @param {Port} port
   */
  async meet(port) {
    const core = this.#core;
    const link = createKeeperLink(port, {
      onEvent: (event, data, handle) => this.dispatch({ type: 'keeper', event, data, handle }),
      onLost: () => void this.#meetNext(),
    });
    core.link = link;
    const known = new Map(core.world.instances);
    const snapshot = /** @type {Snapshot} */ (await link.request('snapshot', {}));
    this.#keeper = snapshot;
    this.#readNotes(snapshot.notes);
    const orphans = await takeOverOrphans(core, { notes: snapshot.notes, children: snapshot.children, known });
    this.#dropRecords([...snapshot.children, ...orphans].map((fact) => fact.instanceId));
    if (snapshot.isTerminating) core.world.ending ??= 'shutdown';
    this.#isHeld = false;
    this.#queue.unshift({ type: 'adopted', children: [...snapshot.children, ...orphans], listeners: snapshot.listeners });
    this.#drain();
  }

  /** @param {ControlEvent} event */
  dispatch(event) {
    this.#queue.push(event);
    this.#drain();
  }

  /** Tells the keeper that clients can connect. */
  announceReady() {
    tell(this.#core, 'control-ready', {});
  }

  /**
   * Changes what is wanted. On disk before anything acts on it. A token that was seen changes nothing.
   * Throws ERR_NCLUST_SHUTTING_DOWN, ERR_NCLUST_STATE_WRITE, and what `change` throws; then nothing has changed.
   * @param {string} method
   * @param {string} token
   * @param {(desired: Desired) => Change & {about: Receipt['about']}} change
   * @returns {Receipt}
   */
  mutate(method, token, change) {
    const { parts, world } = this.#core;
    const seen = world.desired.tokens.find((receipt) => receipt.token === token);
    if (seen) return seen;
    if (world.ending) throw new NclustError('ERR_NCLUST_SHUTTING_DOWN', `The manager is being ended and does not take "${method}".`, { hint: 'Run the command again in a moment.' });
    const before = world.desired;
    const { desired, up, gone, about } = change(before);
    /** @type {Receipt} */
    const receipt = { token, method, up, gone, about };
    const next = { ...desired, tokens: [...before.tokens, receipt].slice(-RECEIPTS_KEPT) };
    parts.store.save(next);
    world.desired = next;
    this.dispatch({ type: 'changed', names: changedNames(before, next) });
    return receipt;
  }

  /**
   * Waits until a mutation has come about. Rejects with ERR_NCLUST_NOT_UP at the first slot that definitely failed.
   * @param {Receipt} receipt
   * @param {AbortSignal} [signal]  Ends the waiting: resolves then.
   * @returns {Promise<void>}
   */
  settled(receipt, signal) {
    return new Promise((resolve, reject) => {
      /** @type {Waiter} */
      const waiter = { receipt, resolve, reject };
      this.#waiters.add(waiter);
      signal?.addEventListener('abort', () => this.#waiters.delete(waiter) && resolve(), { once: true });
      this.#answer();
    });
  }

  /**
   * Nothing is wanted any more: everything is retired, then control and keeper leave.
   * @param {'kill'|'shutdown'} by
   * @returns {Promise<void>}  Resolves just before they leave.
   */
  end(by) {
    this.world.ending ??= by;
    this.dispatch({ type: 'changed', names: this.#allNames() });
    return this.#ended;
  }

  /** Zeroes the restart counters of a slot. @param {number} id */
  reset(id) {
    const memory = memoryOf(this.#core.world, id);
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
    const instances = [...world.instances.values()].filter((instance) => instance.label.id === id && !instance.exit && instance.pid > 0);
    for (const instance of instances) {
      instance.signalledBy = `sendSignal ${signal}`;
      await link?.request('signal', { instanceId: instance.instanceId, signal });
    }
  }

  /** Stops looking and acting. Whatever runs goes on. Idempotent. */
  close() {
    this.#isClosed = true;
    this.#isHeld = true;
    this.#core.link?.close();
    for (const seat of this.world.seats.values()) seat.cancelTimer();
  }

  #drain() {
    if (this.#isBusy || this.#isHeld) return;
    this.#isBusy = true;
    try {
      for (let event = this.#queue.shift(); event && !this.#isHeld; event = this.#queue.shift()) this.#handle(event);
    } finally {
      this.#isBusy = false;
    }
    this.#answer();
    this.#leaveWhenDone();
  }

  /** @param {ControlEvent} event */
  #handle(event) {
    const core = this.#core;
    switch (event.type) {
      case 'keeper':
        return this.#onKeeperEvent(event);
      case 'spawned': {
        const instance = core.world.instances.get(event.instanceId);
        if (!instance) return undefined;
        spawned(core, instance, event);
        return reconcile(core, instance.label.name);
      }
      case 'refused': {
        const instance = core.world.instances.get(event.instanceId);
        if (!instance) return undefined;
        refused(core, instance, event.message);
        return reconcile(core, instance.label.name);
      }
      case 'timer': {
        const seat = core.world.seats.get(event.key);
        if (!seat) return undefined;
        seat.untilMs = null;
        step(core, seat, { type: 'timer' });
        return reconcile(core, seat.name);
      }
      case 'changed':
        return this.#onChanged(event.names);
      case 'adopted':
        return this.#onAdopted(event);
      default:
        return undefined;
    }
  }

  /** @param {Extract<ControlEvent, {type: 'keeper'}>} event */
  #onKeeperEvent({ event, data, handle }) {
    const core = this.#core;
    if (event === 'listener') return this.#handles.keep(data, handle);
    if (event === 'released') return this.#handles.drop(data.key);
    if (event === 'terminating') return void this.end('shutdown'); // Leaving is what follows.
    const fact = FACTS[event];
    if (!fact) return undefined;
    const instance = core.world.instances.get(data.instanceId);
    if (!instance) return this.#lookAgain(event, data.instanceId);
    fact(core, instance, data);
    return reconcile(core, instance.label.name);
  }

  /**
   * An instance nobody here has asked for: the last act of a control that died. It is adopted, and the plan says what becomes of it.
   * @param {string} event
   * @param {string} instanceId
   */
  #lookAgain(event, instanceId) {
    const { link, parts } = this.#core;
    parts.journal('unknown-instance', { event, instanceId });
    if (event === 'gone') return;
    const look = async () => {
      const { children, listeners } = /** @type {Snapshot} */ (await link?.request('snapshot', {}));
      this.dispatch({ type: 'adopted', children, listeners });
    };
    look().catch(() => {}); // The keeper died: the next one is asked anyway.
  }

  /** @param {string[]} names */
  #onChanged(names) {
    const core = this.#core;
    for (const name of names) reconcile(core, name);
    if (core.world.ending) for (const instance of core.world.instances.values()) if (instance.isStray && !instance.exit) retireInstance(core, instance, 'finish');
    for (const id of [...core.world.memories.keys()]) forgetSlot(core, id);
  }

  /** @param {Extract<ControlEvent, {type: 'adopted'}>} event */
  #onAdopted({ children, listeners }) {
    const core = this.#core;
    for (const { app, scope } of listeners) core.world.openScopes.set(scope ?? app, app);
    const { news, names } = adopt(core, children, { isExact: this.#isExact });
    for (const { event, instanceId, data } of news) {
      const instance = core.world.instances.get(instanceId);
      if (instance) FACTS[event](core, instance, data);
    }
    this.#onChanged([...new Set([...names, ...this.#allNames()])]);
  }

  /** @returns {string[]} */
  #allNames() {
    const { world } = this.#core;
    const listed = world.desired.apps.map((app) => app.spec.name);
    const seated = [...world.seats.values()].map((seat) => seat.name);
    return [...new Set([...listed, ...seated, ...world.openScopes.values()])];
  }

  /** A keeper that has notes knows the past of the slots; one that has none is told. @param {Record<string, unknown>} notes */
  #readNotes(notes) {
    const { world } = this.#core;
    for (const [key, note] of Object.entries(notes)) {
      const id = slotOfNote(key);
      if (id !== null) world.memories.set(id, readNote(note));
    }
    for (const [id, memory] of world.memories) if (!(noteKey(id) in notes)) tell(this.#core, 'note', { key: noteKey(id), value: memory });
  }

  /**
   * Empties the records before they are made anew from facts. Pipes of what lives on stay open.
   * @param {string[]} alive  Instance ids.
   */
  #dropRecords(alive) {
    const { parts, world } = this.#core;
    for (const seat of world.seats.values()) seat.cancelTimer();
    for (const instanceId of world.instances.keys()) if (!alive.includes(instanceId)) parts.logs.detach(instanceId);
    world.seats.clear();
    world.instances.clear();
  }

  /** The keeper died: its children live on. The next one gets the sockets first, so that they are refused to nobody. */
  async #meetNext() {
    const { parts } = this.#core;
    this.#isHeld = true;
    this.#core.link = null;
    this.#queue = this.#queue.filter((event) => event.type === 'changed');
    if (this.#isClosed || this.#isLeaving) return;
    parts.journal('keeper-lost');
    try {
      const port = await parts.launchKeeper();
      await this.#handles.handOver(port);
      await this.meet(port);
      this.announceReady();
    } catch (error) {
      if (error instanceof KeeperLost) return; // Its own onLost has begun again.
      parts.journal('keeper-launch-failed', { message: /** @type {Error} */ (error).message });
      parts.clock.after(1_000, () => void this.#meetNext());
    }
  }

  #answer() {
    if (this.#isHeld) return;
    for (const waiter of this.#waiters) {
      const { receipt, resolve, reject } = waiter;
      const outcome = outcomeOf(this.world, receipt);
      const isCutShort = this.world.ending !== null && receipt.up.length > 0;
      if (outcome.state === 'pending' && !isCutShort) continue;
      this.#waiters.delete(waiter);
      if (outcome.state === 'failed') reject(notUpError(outcome.notUp, { wanted: receipt.up.length, method: receipt.method }));
      else if (isCutShort && outcome.state === 'pending') reject(new NclustError('ERR_NCLUST_SHUTTING_DOWN', 'The manager is being ended.'));
      else resolve();
    }
  }

  #leaveWhenDone() {
    const { world, parts, link } = this.#core;
    if (!world.ending || world.instances.size > 0 || this.#isHeld || this.#isLeaving) return;
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
  return [...new Set([...before.apps.filter((app) => !now.has(app)), ...after.apps.filter((app) => !old.has(app))].map((app) => app.spec.name))];
}
