// Knows: the queue of events, through which every change of the records goes. Must not: decide what
// follows from an event, or wait for anything but the disk of the state file.
import { NclustError } from '../../lib/shared/errors.js';
import { createAppMessageSubscription, publishAppMessage } from './app-channel/messages.js';
import { publishChanges } from './journal/change-events.js';
import { createJournal } from './journal/journal.js';
import { allAppNames, EVENTS } from './handlers.js';
import { KeeperSession } from './keeper-link/session.js';
import { writeNote } from './keeper-link/tell.js';
import { cancelTimers } from './loop/effects.js';
import { keeperEventHandlers } from './loop/keeper-events.js';
import { compareWithKeeper, noteKeeperDeath, noteLostList, restoreChannels } from './recovery/meet-keeper.js';
import { RECEIPTS_KEPT } from './requests/outcome.js';
import { createWaiters } from './requests/waiters.js';
import { createVersioningUpdates } from './spawn/git-checkout.js';
import { getSlotHistory, createRegistry, restartNumbering } from './state/registry.js';
import { resetCounters } from './state/slot-history.js';

/** @import { ControlEvent, LoopContext, Parts } from './context.js' */
/** @import { ChildSnapshot, Snapshot } from './keeper-link/link.js' */
/** @import { Change, Desired, Receipt } from './state/desired.js' */
/** @import { Loaded } from './state/store.js' */

export class Control {
  /** @type {LoopContext} */
  #context;
  #session;
  #waiters;
  #updateVersioning;
  #appMessages = createAppMessageSubscription((isOn) => this.askKeeper('subscribe-messages', { isOn }));
  /** @type {ControlEvent[]} */
  #queue = [];
  #isBusy = false;
  /** While control changes from one keeper to the next, events wait. */
  #isHeld = true;
  #isNew;
  #follow = () => {};
  #onVisit = () => {};
  #isLeaving = false;
  /** @type {() => void} */
  #sayEnded = () => {};
  /** @type {Promise<void>} */
  #ended = new Promise((resolve) => {
    this.#sayEnded = resolve;
  });

  /**
   * @param {Parts} parts
   * @param {Loaded} loaded
   */
  constructor(parts, { desired, isExact, isNew = false, notices }) {
    const registry = createRegistry(desired);
    this.#context = {
      parts,
      registry,
      isExact,
      link: null,
      dispatch: (event) => this.dispatch(event),
      journal: createJournal(parts, registry),
    };
    this.#session = new KeeperSession(this.#context, {
      compareWithKeeper: () => compareWithKeeper(this.#context),
      onMet: (snapshot, orphans) => this.#onKeeperMet(snapshot, orphans),
      onLost: (hasDied) => this.#onKeeperLost(hasDied),
      onEvent: (event, data) => this.#onKeeperEvent(event, data),
      hold: () => this.#hold(),
      resume: () => this.#resume(),
    });
    this.#waiters = createWaiters(this.registry);
    this.#updateVersioning = createVersioningUpdates(this.#context);
    this.#isNew = isNew;
    for (const notice of notices) this.registry.notices.add(notice);
  }

  get registry() {
    return this.#context.registry;
  }

  get journal() {
    return this.#context.journal;
  }

  get appMessages() {
    return this.#appMessages;
  }

  get session() {
    return this.#session;
  }

  /** The state that the keeper reported when control connected to it. */
  get keeper() {
    return this.#session.snapshot;
  }

  /** Whether control has not met its keeper yet, so that it does not know what runs. */
  get isHeld() {
    return this.#isHeld;
  }

  /** @param {ControlEvent} event */
  dispatch(event) {
    this.#queue.push(event);
    this.#drain();
  }

  /** @param {() => void} look  Called after every turn, before waiting requests are answered. */
  follow(look) {
    this.#follow = look;
  }

  /**
   * Changes the desired state. Saves the change to the disk before control acts on it. For a
   * known token, changes nothing and returns the first receipt.
   * @param {string} method
   * @param {string} token
   * @param {(desired: Desired) => Change & Pick<Receipt, 'about' | 'root' | 'plan'>} change
   * @returns {Receipt}  Throws ERR_NCLUST_SHUTTING_DOWN, ERR_NCLUST_STATE_WRITE, and the errors of
   *   `change`.
   */
  mutate(method, token, change) {
    const { parts, registry } = this.#context;
    const seen = this.#find(token);
    if (seen) return seen;
    if (registry.ending) {
      const message = `The manager is shutting down and does not accept "${method}".`;
      throw new NclustError('ERR_NCLUST_SHUTTING_DOWN', message, { hint: 'Run the command again in a moment.' });
    }
    const before = registry.desired;
    const { desired, ...outcome } = change(before);
    /** @type {Receipt} */
    const receipt = { token, method, ...outcome };
    const next = { ...desired, tokens: [...before.tokens, receipt].slice(-RECEIPTS_KEPT) };
    parts.store.save(next);
    publishChanges(this.#context, next, method);
    registry.desired = next;
    restoreChannels(this.#context, receipt.up);
    this.dispatch({ type: 'changed', names: changedNames(before, next) });
    this.#updateVersioning(receipt.up);
    return receipt;
  }

  /** @param {string} token */
  hasSeen(token) {
    return this.#find(token) !== undefined;
  }

  /**
   * @param {Receipt} receipt
   * @param {AbortSignal} [signal]  When the signal is aborted, the promise resolves.
   * @param {() => void} [onCheck]  Called at each check while the outcome is pending.
   * @returns {Promise<void>}  Rejects when a slot or the reload has failed, the manager shuts
   *   down, or the keeper does not answer.
   */
  waitFor(receipt, signal, onCheck) {
    const outcome = this.#waiters.add(receipt, signal, onCheck);
    if (!this.#isHeld) this.#waiters.answer();
    return this.#session.unlessSilent(outcome);
  }

  /** @param {() => void} onVisit  Called when a client did not find the socket of control. */
  welcome(onVisit) {
    this.#onVisit = onVisit;
  }

  /**
   * Retires every process. After that, control and keeper exit.
   * @param {'kill' | 'shutdown'} by
   * @returns {Promise<void>}  Resolves just before they exit.
   */
  end(by) {
    if (!this.registry.ending) this.#context.parts.managerLog('ending', { by });
    this.registry.ending ??= by;
    this.dispatch({ type: 'changed', names: allAppNames(this.registry) });
    return this.#ended;
  }

  /**
   * Sets the counters of restarts and crashes to 0.
   * @param {number} id
   */
  reset(id) {
    const history = getSlotHistory(this.registry, id);
    resetCounters(history);
    writeNote(this.#context, id);
  }

  /**
   * @param {number} id
   * @param {string} signal
   * @returns {Promise<void>}
   */
  async signal(id, signal) {
    const { link, registry } = this.#context;
    const instances = [...registry.instances.values()].filter(
      (instance) => instance.label.id === id && !instance.exit && instance.pid > 0,
    );
    for (const instance of instances) {
      instance.signalledBy = `sendSignal ${signal}`;
      await link?.request('signal', { instanceId: instance.instanceId, signal });
    }
  }

  /**
   * @param {string} verb
   * @param {object} params
   * @returns {Promise<any>}  Rejects with a KeeperRefusal or a KeeperLost.
   */
  askKeeper(verb, params) {
    return this.#session.request(verb, params);
  }

  /** Stops this control. The processes continue to run. Idempotent. */
  close() {
    this.#hold();
    this.#session.close();
    for (const seat of this.registry.seats.values()) cancelTimers(seat);
    for (const window of this.registry.windows.values()) window.cancel();
  }

  /** @param {string} token */
  #find(token) {
    return this.registry.desired.tokens.find((receipt) => receipt.token === token);
  }

  #hold() {
    this.#isHeld = true;
  }

  #resume() {
    this.#isHeld = false;
    this.#drain();
  }

  #drain() {
    if (this.#isBusy || this.#isHeld) return;
    this.#isBusy = true;
    try {
      for (let event = this.#queue.shift(); event; event = this.#queue.shift())
        EVENTS[event.type](this.#context, event);
    } finally {
      this.#isBusy = false;
    }
    restartNumbering(this.registry);
    this.#follow();
    this.registry.touched.clear();
    this.#waiters.answer();
    this.#leaveWhenDone();
  }

  /**
   * @param {Snapshot} snapshot
   * @param {ChildSnapshot[]} orphans
   */
  #onKeeperMet(snapshot, orphans) {
    this.#appMessages.again();
    if (snapshot.isTerminating) this.registry.ending ??= 'shutdown';
    if (this.#isNew) noteLostList(this.#context, snapshot.children.length + orphans.length);
    this.#isNew = false;
    const { children, listeners } = snapshot;
    this.#queue.unshift({ type: 'adopted', children: [...children, ...orphans], listeners });
    this.#resume();
  }

  /** @param {boolean} hasDied */
  #onKeeperLost(hasDied) {
    this.#hold();
    if (hasDied) noteKeeperDeath(this.#context);
    // Drops events of the old keeper, because the next keeper reports its state.
    this.#queue = this.#queue.filter((event) => event.type === 'changed');
  }

  /**
   * @param {string} event
   * @param {any} data
   */
  #onKeeperEvent(event, data) {
    if (event === 'app-message' || event === 'app-messages-dropped') publishAppMessage(this.#context, data);
    else if (event === 'terminating') void this.end('shutdown');
    else if (event === 'visited') this.#onVisit();
    else if (Object.hasOwn(keeperEventHandlers, event)) this.dispatch({ type: 'keeper-event', event, data });
  }

  #leaveWhenDone() {
    const { registry, parts } = this.#context;
    if (!registry.ending || registry.instances.size > 0 || this.#isLeaving) return;
    this.#isLeaving = true;
    const leave = () => {
      this.#sayEnded();
      parts.leave(0);
    };
    // Leaves even if the request fails, because the keeper may exit before its answer arrives.
    this.#session.leave()?.then(leave, leave);
  }
}

/**
 * @param {Desired} before
 * @param {Desired} after
 */
function changedNames(before, after) {
  const old = new Set(before.apps);
  const now = new Set(after.apps);
  const changed = [...before.apps, ...after.apps].filter((app) => old.has(app) !== now.has(app));
  return [...new Set(changed.map((app) => app.spec.name))];
}
