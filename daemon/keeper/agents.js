// What agents ask and report, and what the keeper answers.
import { createEdge, refusalOf } from './agent-acts.js';
import { Balancer } from './balancer.js';
import { claimKey, describeListener } from './listeners.js';

/** @import { Act } from './agent-acts.js' */
/** @import { Child } from './child.js' */
/** @import { BindError, Claim, Handle, Listener, Listeners } from './listeners.js' */

/** A socket without a user is closed this long after its app began to listen elsewhere. */
const UNUSED_AFTER_MS = 5_000;
/** Addresses of one instance that control knows. */
const ADDRESSES_MAX = 256;
const GIVE_WAY_LOOK_MS = 20;
const GIVE_WAY_LOOKS = 100;
/** Acts that still mean something when the process that said them has ended. */
const AFTER_EXIT = new Set(['overflow', 'took', 'report']);

/** @typedef {{ act?: string, [key: string]: any }} AgentMessage */

export class Agents {
  #listeners;
  #children;
  #emit;
  #onDropped;
  #balancer;
  #look = createEdge();
  /**
   * Questions that wait for an orphan of the same app to let go of the address.
   * @type {{ child: Child, message: AgentMessage }[]}
   */
  #waiting = [];
  /** By scope. @type {Map<string, NodeJS.Timeout>} */
  #tidyTimers = new Map();

  /** @type {Record<Act, (child: Child, message: AgentMessage, handle: Handle) => void>} */
  #acts = {
    hello: (child) => child.agentArrived(),
    booted: (child) => this.#booted(child),
    listen: (child, message) => this.#giveSocket(child, message),
    bound: (child, message, handle) => this.#takeCopy(child, message.claim, handle),
    taken: (child, { claim }) => this.#take(child, claim),
    listening: (child, message) => this.#listening(child, message),
    closed: (child, { claim }) => this.#closed(child, claim),
    draining: (child, { caught }) => child.retirement?.caughtSignals(caught),
    drained: (child, { caught }) => child.retirement?.drained(caught),
    answer: (child, message) => child.answered(message),
    overflow: (child, message, handle) =>
      this.#balancer.onOverflow(child, /** @type {any} */ (message), handle) ||
      this.#onDropped(child, 'more connections than may wait for a worker'),
    took: (child, { seq }) => this.#balancer.onAccepted(child, seq),
    declined: (child, { seq }) => this.#balancer.onDeclined(child, seq),
    vitals: ({ instanceId }, { responses, errors, delayP99Ms, connections }) =>
      this.#emit('vitals', { instanceId, responses, errors, delayP99Ms, connections }),
    report: (child, { report }) => {
      child.report = report;
    },
    fault: ({ instanceId }, { part, message }) => this.#emit('agent-failed', { instanceId, part, message }),
    unlistened: (child) => {
      child.hasUnlistened = true;
      this.retryWaiting();
    },
  };

  /**
   * @param {object} o
   * @param {Listeners} o.listeners
   * @param {() => Iterable<Child>} o.children
   * @param {(name: string, data: object, handle?: Handle) => void} o.emit  To control.
   * @param {(child: Child, what: string) => void} o.onDropped  A message was not taken.
   */
  constructor({ listeners, children, emit, onDropped }) {
    this.#listeners = listeners;
    this.#children = children;
    this.#emit = emit;
    this.#onDropped = onDropped;
    this.#balancer = new Balancer({ listeners, children });
  }

  /**
   * Never throws: a bad message harms only the instance that sent it.
   * @param {Child} child
   * @param {AgentMessage} message  Unchecked: any JSON value may be in it.
   * @param {Handle} [handle]  Of libuv. Closed here, unless the act takes it.
   */
  receive(child, message, handle) {
    const { act, fault } = this.#look(child, message, handle);
    if (fault !== null) this.#onDropped(child, fault);
    // Messages that a process sent before it ended may be read after its end. The connections that
    // it passed on still need a worker.
    const isLate = child.exit && (act === null || !AFTER_EXIT.has(act));
    if (act !== null && fault === null && !isLate) return this.#perform(child, act, message, handle);
    handle?.close();
    if (act === null || isLate) return;
    const refusal = refusalOf(act, message, fault ?? '');
    if (refusal) child.tell(refusal);
    // Control waits for the answer.
    if (act === 'answer') child.answered({ seq: message.seq, refusal: { code: 'EBADMSG', message: fault } });
  }

  /**
   * @param {Child} child
   * @param {Act} act
   * @param {AgentMessage} message
   * @param {Handle} [handle]
   */
  #perform(child, act, message, handle) {
    try {
      // unfitField() has refused a message that needs a handle and has none.
      this.#acts[act](child, message, /** @type {Handle} */ (handle));
    } catch (error) {
      this.#onDropped(child, `"${act}" failed: ${/** @type {Error} */ (error).stack}`);
      handle?.close();
    }
  }

  /**
   * Gives control its copy.
   * @param {Listener} listener
   */
  announce(listener) {
    this.#emit('listener', describeListener(listener), listener.handle);
  }

  /**
   * Its agent can report nothing more, so control would wait for its main module for ever.
   * @param {Child} child
   */
  onDisconnect(child) {
    if (!child.exit) this.#booted(child);
    this.#balancer.onRotationChanged(child.scope);
  }

  /**
   * It entered the rotation or left it.
   * @param {Child} child
   */
  onRotationChanged(child) {
    this.#balancer.onRotationChanged(child.scope);
  }

  /** Connections that are on their way through the keeper arrive, and no new ones come. */
  close() {
    return this.#balancer.close();
  }

  /** An orphan released its address, exited or called: who waits for the address asks again. */
  retryWaiting() {
    const retries = this.#waiting;
    this.#waiting = [];
    for (const { child, message } of retries) this.#perform(child, 'listen', message);
  }

  /** @param {Child} child */
  onExit(child) {
    for (const { users } of this.#listeners.all()) users.delete(child.instanceId);
    this.#balancer.onExit(child);
    this.retryWaiting();
  }

  /** @param {(listener: Listener) => boolean} isMeant */
  release(isMeant) {
    for (const { key, scope, claim } of this.#listeners.release(isMeant)) {
      this.#emit('released', { key });
      this.#balancer.onReleased(scope, (one) => claimKey(scope, one) === key);
      // Fork-mode processes were born with a copy of it.
      for (const child of this.#children())
        if (child.scope === scope && child.mode === 'fork') child.tell({ act: 'released', claim });
    }
  }

  /**
   * @param {Child} child
   * @param {AgentMessage} message
   * @param {number} [retries]  How often to try again while others still close their copies of an
   *   address the app has moved away from.
   */
  #giveSocket(child, message, retries = 0) {
    const { seq, claim } = message;
    // Handles cannot be passed to an orphan.
    if (child.exit || child.isAdopted) return;
    // An address that the app has moved away from must not be in the way of the one it moves to.
    const inTheWay = child.retirement ? [] : this.#listeners.inTheWay(child, claim);
    if (inTheWay.length > 0) return this.#giveWay(child, message, inTheWay);
    try {
      const listener = this.#listeners.get(child.scope, claim) ?? this.#bindFor(child, claim);
      // One that is to end waits for its listen() and accepts nothing (agent/socket-claims.cjs):
      // unanswered, it would never come to its end.
      if (!child.retirement) listener.users.add(child.instanceId);
      if (this.#listeners.refresh(listener, child.owner)) this.#rebound(listener, child);
      child.tell({ act: 'socket', seq }, listener.handle);
    } catch (error) {
      const { code, message: text, isForeign } = /** @type {BindError} */ (error);
      if (isForeign && retries > 0) setTimeout(() => this.#giveSocket(child, message, retries - 1), GIVE_WAY_LOOK_MS);
      else if (isForeign && this.#askOrphans(child)) this.#waiting.push({ child, message });
      else child.tell({ act: 'refused', seq, code, message: text });
    }
  }

  /**
   * Control and the processes born with it have copies too, and close them when they hear of it.
   * Nobody reports that.
   * @param {Child} child
   * @param {AgentMessage} message
   * @param {Listener[]} unused
   */
  #giveWay(child, message, unused) {
    this.release((one) => unused.includes(one));
    this.#giveSocket(child, message, GIVE_WAY_LOOKS);
  }

  /**
   * @param {Child} child
   * @param {Claim} claim
   */
  #bindFor(child, claim) {
    const listener = this.#bindBeside(child, claim);
    this.announce(listener);
    return listener;
  }

  /**
   * @param {Child} child
   * @param {Claim} claim
   */
  #bindBeside(child, claim) {
    try {
      return this.#listeners.bind(child, claim);
    } catch (error) {
      if (!(/** @type {BindError} */ (error).isForeign) || this.#orphansOf(child).length === 0) throw error;
      return this.#listeners.bind(child, claim, { beside: true });
    }
  }

  /** @param {Child} child */
  #orphansOf(child) {
    return [...this.#children()].filter(
      (one) => one.isAdopted && !one.exit && one.mode !== 'exec' && one.scope === child.scope && one !== child,
    );
  }

  /**
   * Each orphan is asked once. One that has not found the door yet will be.
   * @param {Child} child
   * @returns {boolean}  Whether one may still let go.
   */
  #askOrphans(child) {
    const orphans = this.#orphansOf(child).filter((orphan) => !orphan.hasUnlistened);
    for (const orphan of orphans)
      if (!orphan.isAskedToUnlisten) orphan.isAskedToUnlisten = orphan.tell({ act: 'unlisten' });
    return orphans.length > 0;
  }

  /**
   * Those that listen on the one before get the new one; a process that was only born with it drops
   * it.
   * @param {Listener} listener
   * @param {Child} child  Who has the new one, or is about to get it.
   */
  #rebound(listener, child) {
    this.announce(listener);
    for (const one of this.#children())
      if (one !== child && one.scope === listener.scope && !one.exit)
        one.tell({ act: 'rebound', claim: listener.claim }, listener.handle);
  }

  /**
   * @param {Child} child
   * @param {Claim} claim
   * @param {Handle} handle
   */
  #takeCopy(child, claim, handle) {
    if (this.#listeners.isFull(child.scope, claim)) {
      handle.close();
      return this.#onDropped(child, 'more listening sockets than an app may have');
    }
    const holder = this.#listeners.holderOf(child.scope, claim);
    if (holder) {
      handle.close();
      return void child.tell({ act: 'conflict', claim, code: 'EADDRINUSE', message: `held by app "${holder.app}"` });
    }
    const held = claim.family === 0 ? this.#listeners.get(child.scope, claim) : undefined;
    if (held) this.#listeners.replace(held, handle, child.owner);
    const listener = held ?? this.#listeners.keep(child, claim, handle);
    listener.users.add(child.instanceId);
    if (held) this.#rebound(held, child);
    else this.announce(listener);
  }

  /**
   * A fork-mode process got the socket at its start, and listens on it now.
   * @param {Child} child
   * @param {Claim} claim
   */
  #take(child, claim) {
    const listener = this.#listeners.get(child.scope, claim);
    listener?.users.add(child.instanceId);
    if (listener) listener.owner = child.owner;
  }

  /** @param {Child} child */
  #booted(child) {
    if (child.bootedAtMs !== null) return;
    child.bootedAtMs = Date.now();
    this.#emit('booted', { instanceId: child.instanceId, atMs: child.bootedAtMs });
  }

  /**
   * @param {Child} child
   * @param {AgentMessage} message
   */
  #listening(child, { address, port, family }) {
    child.bootedAtMs ??= Date.now();
    const isKnown = child.addresses.some((one) => one.address === address && one.port === port);
    if (!isKnown && child.addresses.length >= ADDRESSES_MAX)
      return this.#onDropped(child, `more than ${ADDRESSES_MAX} addresses`);
    if (!isKnown) child.addresses.push({ address, port, family });
    this.#emit('listening', { instanceId: child.instanceId, address, port, family });
    this.#balancer.onRotationChanged(child.scope);
    clearTimeout(this.#tidyTimers.get(child.scope));
    this.#tidyTimers.set(child.scope, setTimeout(() => this.#tidy(child.scope), UNUSED_AFTER_MS).unref());
  }

  /**
   * An app that came back on another port: on the old one clients would wait for ever instead of
   * being refused.
   * @param {string} scope
   */
  #tidy(scope) {
    this.#tidyTimers.delete(scope);
    const held = this.#listeners.ofScope(scope);
    if (held.some(({ users }) => users.size > 0)) this.release((one) => one.scope === scope && one.users.size === 0);
  }

  /**
   * The app itself stopped listening. The last one to do so takes the socket along.
   * @param {Child} child
   * @param {Claim} claim
   */
  #closed(child, claim) {
    const held = this.#listeners.get(child.scope, claim);
    if (!held?.users.delete(child.instanceId)) return;
    child.addresses = child.addresses.filter(
      ({ address, port }) => address !== held.bound.address || port !== held.bound.port,
    );
    if (held.users.size === 0 && !child.retirement) this.release((one) => claimKey(one.scope, one.claim) === held.key);
  }
}
