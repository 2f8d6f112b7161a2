// The sockets that the keeper holds: who gets one, who uses it, and when it is closed.
//
// A socket is held for the apps that control wants. While one of them is started again, its socket
// has no user, and clients wait in the queue. So a socket without a user is no mistake, and the
// keeper closes a socket in three cases: control releases its scope, the last user stops to listen,
// or the app listens elsewhere. Because control may release a scope before the processes in it have
// ended, the keeper holds nothing new for a scope that was released, or for a process that ends.
import { claimKey, describeListener } from './listeners.js';

/** @import { AgentMessage } from '../agents.js' */
/** @import { BindError } from './bind.js' */
/** @import { Child } from '../child.js' */
/** @import { Claim, Handle, Listener, Listeners } from './listeners.js' */

/** A socket without a user is closed this long after its app began to listen elsewhere. */
const UNUSED_AFTER_MS = 5_000;
const GIVE_WAY_LOOK_MS = 20;
const GIVE_WAY_LOOKS = 100;

export class HeldSockets {
  #listeners;
  #children;
  #emit;
  #onDropped;
  #onReleased;
  /** The scopes that control wants, with the app of each. @type {Map<string, string>} */
  #wanted = new Map();
  /**
   * Questions that wait for an orphan of the same app to let go of the address.
   * @type {{ child: Child, message: AgentMessage }[]}
   */
  #waiting = [];
  /** By scope. @type {Map<string, NodeJS.Timeout>} */
  #tidyTimers = new Map();

  /**
   * @param {object} o
   * @param {Listeners} o.listeners
   * @param {() => Iterable<Child>} o.children
   * @param {(name: string, data: object, handle?: Handle) => void} o.emit  To control.
   * @param {(child: Child, what: string) => void} o.onDropped  A message was not taken.
   * @param {(scope: string, isOfSocket: (claim: Claim) => boolean) => void} o.onReleased
   */
  constructor({ listeners, children, emit, onDropped, onReleased }) {
    this.#listeners = listeners;
    this.#children = children;
    this.#emit = emit;
    this.#onDropped = onDropped;
    this.#onReleased = onReleased;
  }

  all() {
    return this.#listeners.all();
  }

  /** Each socket with the instances that listen on it, by their ids. */
  describe() {
    return this.all().map(({ app, scope, bound, users }) => ({ app, scope, ...bound, users: [...users] }));
  }

  /** @param {string} scope */
  ofScope(scope) {
    return this.#listeners.ofScope(scope);
  }

  /**
   * Control starts a process in a scope, so sockets are held for it from now on.
   * @param {string} scope
   * @param {string} app
   */
  want(scope, app) {
    this.#wanted.set(scope, app);
  }

  /**
   * Control wants nothing of a scope to listen any more.
   * @param {{ app: string, scope?: string }} what  Without a scope: all scopes of the app.
   */
  unwant({ app, scope }) {
    for (const [one, its] of this.#wanted)
      if (scope === undefined ? its === app : one === scope) this.#wanted.delete(one);
    this.release((one) => one.app === app && (scope === undefined || one.scope === scope));
  }

  /**
   * Handed over by control, which had copies of the sockets of a keeper that died.
   * @param {{ app: string, scope: string, owner: import('../host/owner.js').Owner | null }} claimant
   * @param {Claim} claim
   * @param {Handle} handle
   */
  inherit(claimant, claim, handle) {
    this.want(claimant.scope, claimant.app);
    this.#listeners.keep(claimant, claim, handle);
  }

  /**
   * Gives control its copy.
   * @param {Listener} listener
   */
  announce(listener) {
    this.#emit('listener', describeListener(listener), listener.handle);
  }

  /**
   * @param {Child} child
   * @param {AgentMessage} message
   * @param {number} [retries]  How often to try again while others still close their copies of an
   *   address the app has moved away from.
   */
  give(child, message, retries = 0) {
    const { seq, claim } = message;
    // Handles cannot be passed to an orphan.
    if (child.exit || child.isAdopted) return;
    // An address that the app has moved away from must not be in the way of the one it moves to.
    const inTheWay = child.retirement ? [] : this.#listeners.inTheWay(child, claim);
    if (inTheWay.length > 0) return this.#giveWay(child, message, inTheWay);
    const held = this.#listeners.get(child.scope, claim);
    try {
      if (!held && !this.#mayKeepFor(child)) return this.#lend(child, message);
      const listener = held ?? this.#bindFor(child, claim);
      if (!child.retirement) listener.users.add(child.instanceId);
      if (this.#listeners.refresh(listener, child.owner)) this.#rebound(listener, child);
      child.tell({ act: 'socket', seq }, listener.handle);
    } catch (error) {
      const { code, message: text, isForeign } = /** @type {BindError} */ (error);
      if (isForeign && retries > 0) setTimeout(() => this.give(child, message, retries - 1), GIVE_WAY_LOOK_MS);
      else if (isForeign && this.#askOrphans(child)) this.#waiting.push({ child, message });
      else {
        this.failToListen(child, claim, code);
        child.tell({ act: 'refused', seq, code, message: text });
      }
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
    this.give(child, message, GIVE_WAY_LOOKS);
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
  takeCopy(child, claim, handle) {
    if (!this.#mayKeepFor(child)) return handle.close();
    if (this.#listeners.isFull(child.scope, claim)) {
      handle.close();
      return this.#onDropped(child, 'more listening sockets than an app may have');
    }
    const holder = this.#listeners.holderOf(child.scope, claim);
    if (holder) {
      handle.close();
      this.failToListen(child, claim, 'EADDRINUSE');
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
  take(child, claim) {
    const listener = this.#listeners.get(child.scope, claim);
    listener?.users.add(child.instanceId);
    if (listener) listener.owner = child.owner;
  }

  /**
   * Writes the failure down, because an app may say nothing about the error.
   * @param {Child} child
   * @param {Claim} claim
   * @param {string} code
   */
  failToListen(child, claim, code) {
    const app = code === 'EADDRINUSE' ? (this.#listeners.holderOf(child.scope, claim)?.app ?? null) : null;
    this.#emit('listen-failed', { instanceId: child.instanceId, ...child.failedToListen(claim, code, app) });
  }

  /** @param {(listener: Listener) => boolean} isMeant */
  release(isMeant) {
    for (const { key, scope, claim } of this.#listeners.release(isMeant)) {
      this.#emit('released', { key });
      this.#onReleased(scope, (one) => claimKey(scope, one) === key);
      // Fork-mode processes were born with a copy of it.
      for (const child of this.#children())
        if (child.scope === scope && child.mode === 'fork') child.tell({ act: 'released', claim });
    }
  }

  /** @returns {{ child: Child, message: AgentMessage }[]}  What waits for an orphan no longer. */
  takeWaiting() {
    return this.#waiting.splice(0);
  }

  /**
   * It has ended.
   * @param {Child} child
   */
  forget(child) {
    for (const { users } of this.#listeners.all()) users.delete(child.instanceId);
  }

  /** @param {Child} child */
  #mayKeepFor({ retirement, scope }) {
    return !retirement && this.#wanted.has(scope);
  }

  /**
   * A process that ends accepts nothing (agent/socket-claims.cjs), but it waits for its listen():
   * unanswered, it would never come to its end. So it gets a socket, and the keeper keeps no copy.
   * @param {Child} child
   * @param {AgentMessage} message
   */
  #lend(child, { seq, claim }) {
    const { handle, giveBack } = this.#listeners.lend(child, claim);
    if (!child.tell({ act: 'socket', seq }, handle, giveBack)) giveBack();
  }

  /**
   * @param {string} scope  Something in it listens.
   */
  onListening(scope) {
    clearTimeout(this.#tidyTimers.get(scope));
    this.#tidyTimers.set(scope, setTimeout(() => this.#tidy(scope), UNUSED_AFTER_MS).unref());
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
  closed(child, claim) {
    const held = this.#listeners.get(child.scope, claim);
    if (!held?.users.delete(child.instanceId)) return;
    child.addresses = child.addresses.filter(
      ({ address, port }) => address !== held.bound.address || port !== held.bound.port,
    );
    if (held.users.size === 0 && !child.retirement) this.release((one) => claimKey(one.scope, one.claim) === held.key);
  }
}
