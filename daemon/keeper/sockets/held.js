// While an app restarts, clients wait in the queue of its socket. So the keeper closes a socket
// only if control releases its scope, its last user stops listening, or the app listens elsewhere.
// The keeper holds no new socket for a process that is ending, or whose scope is released.
import { claimKey, describeListener } from './listeners.js';
import { createOwnPorts } from './own-ports.js';
import { createWaiting, LOOK_MS } from './waiting.js';

/** @import { AgentMessage } from '../agents.js' */
/** @import { BindError } from './bind.js' */
/** @import { Child } from '../child.js' */
/** @import { Claim, Handle, Listener, Listeners } from './listeners.js' */

/** The keeper releases the unused sockets of an app this long after an instance listens. */
const UNUSED_AFTER_MS = 5_000;

export class HeldSockets {
  #listeners;
  #children;
  #emit;
  #onDropped;
  #onReleased;
  #ownPorts;
  waiting;
  /** App by scope, for the scopes that control wants. @type {Map<string, string>} */
  #wanted = new Map();
  /** @type {Map<string, NodeJS.Timeout>} */
  #tidyTimers = new Map();

  /**
   * @param {object} o
   * @param {Listeners} o.listeners
   * @param {() => Iterable<Child>} o.children
   * @param {(name: string, data: object, handle?: Handle) => void} o.emit
   * @param {(child: Child, what: string) => void} o.onDropped
   * @param {(scope: string, isOfSocket: (claim: Claim) => boolean) => void} o.onReleased
   */
  constructor({ listeners, children, emit, onDropped, onReleased }) {
    this.#listeners = listeners;
    this.#children = children;
    this.#emit = emit;
    this.#onDropped = onDropped;
    this.#onReleased = onReleased;
    this.#ownPorts = createOwnPorts(listeners);
    this.waiting = createWaiting(children);
  }

  /**
   * @param {Child} child
   * @param {{ address: string, port: number }} reached
   */
  isRefusedTo(child, reached) {
    return this.#ownPorts.isRefused(child, reached);
  }

  /**
   * @param {string} scope
   * @param {string} app
   */
  want(scope, app) {
    this.#wanted.set(scope, app);
  }

  /** @param {{ app: string, scope?: string }} what */
  unwant({ app, scope }) {
    for (const [one, its] of this.#wanted) {
      if (scope === undefined ? its !== app : one !== scope) continue;
      this.#wanted.delete(one);
      this.#ownPorts.unwanted(one);
    }
    this.release((one) => one.app === app && (scope === undefined || one.scope === scope));
  }

  /**
   * Takes a socket from control, which has copies of the sockets of the previous keeper.
   * @param {{ app: string, scope: string, owner: import('../host/owner.js').Owner | null }} claimant
   * @param {Claim} claim
   * @param {Handle} handle
   */
  inherit(claimant, claim, handle) {
    this.want(claimant.scope, claimant.app);
    Object.assign(this.#listeners.keep(claimant, claim, handle), { isAnnounced: true, hasServed: true });
  }

  /** @param {Listener} listener */
  announce(listener) {
    listener.isAnnounced = true;
    this.#emit('listener', describeListener(listener), listener.handle);
  }

  /**
   * @param {Child} child
   * @param {AgentMessage} message
   */
  give(child, message) {
    this.waiting.replace(child, message);
    this.#tryToGive(child, message);
  }

  /**
   * @param {Child} child
   * @param {AgentMessage} message
   * @param {number} [retries]  Retries left while another process has the address.
   */
  #tryToGive(child, message, retries = this.waiting.retriesFor(message)) {
    const { seq, claim, boundPort } = message;
    // Gives nothing to an orphan, because the keeper has no IPC channel to send a handle.
    if (child.exit || child.isAdopted) return;
    const others = child.retirement ? [] : this.#othersOn(child, claim);
    if (others.length > 0) return this.#giveBeside(child, message, others, retries);
    const held = this.#listeners.get(child.scope, claim, boundPort);
    try {
      if (!held && !this.#mayKeepFor(child)) return this.#lend(child, message);
      const listener = held ?? this.#bindFor(child, claim, boundPort);
      if (!child.retirement) listener.users.add(child.instanceId);
      if (held && this.#listeners.refresh(held, child.owner, boundPort)) this.#rebound(held, child);
      child.tell({ act: 'socket', seq }, listener.handle);
    } catch (error) {
      const { code, message: text, isForeign } = /** @type {BindError} */ (error);
      const isWaiting =
        isForeign && (this.#retryLater(child, message, retries) || this.waiting.waitForOrphan(child, message));
      if (!isWaiting) child.tell({ act: 'refused', seq, code, message: text });
    }
  }

  /**
   * @param {Child} child
   * @param {AgentMessage} message
   * @param {number} retries
   * @returns {boolean}
   */
  #retryLater(child, message, retries) {
    const retry = () => this.#tryToGive(child, message, retries - 1);
    return retries > 0 && this.waiting.retryLater(child, message, retry);
  }

  /**
   * A program that only checks a port gets a stand-in for the socket, because without nclust the
   * check would succeed.
   * @param {Child} child
   * @param {AgentMessage} message
   * @param {Listener[]} others
   * @param {number} retries
   * @returns {void}
   */
  #giveBeside(child, message, others, retries) {
    const used = others.find(({ users }) => users.size > 0);
    // The unused sockets must not block the new address of the app.
    if (!used) this.release((one) => others.includes(one));
    if (!used) return this.#tryToGive(child, message);
    if (!message.isMeant) return void child.tell({ act: 'socket', seq: message.seq, isStandIn: true });
    // Waits, because another instance may use the socket only to check the port.
    if (this.#retryLater(child, message, retries)) return;
    const { address, port } = used.bound;
    const text = `instances of this app listen on ${address} port ${port}; a restart can move them, a reload cannot`;
    child.tell({ act: 'refused', seq: message.seq, code: 'EADDRINUSE', message: text });
  }

  /**
   * @param {Child} child
   * @param {Pick<Claim, 'address' | 'port' | 'flags'>} claim
   * @returns {Listener[]}
   */
  #othersOn(child, claim) {
    const own = this.#listeners.get(child.scope, /** @type {Claim} */ (claim));
    return this.#listeners.ofApp(child, claim).filter((one) => one !== own && !one.users.has(child.instanceId));
  }

  /**
   * @param {Child} child
   * @param {Claim} claim
   * @param {number} [boundPort]
   */
  #bindFor(child, claim, boundPort) {
    try {
      return this.#listeners.bind(child, claim, { boundPort });
    } catch (error) {
      if (!(/** @type {BindError} */ (error).isForeign) || this.waiting.listOrphans(child).length === 0) throw error;
      return this.#listeners.bind(child, claim, { boundPort, beside: true });
    }
  }

  /**
   * @param {Listener} listener
   * @param {Child} child  Gets no message here, because it has sent the socket, or gets the
   *   socket from give().
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
      return void child.tell({ act: 'conflict', claim, code: 'EADDRINUSE', message: `held by app "${holder.app}"` });
    }
    const held = claim.family === 0 ? this.#listeners.get(child.scope, claim) : undefined;
    if (held) this.#listeners.replace(held, handle, child.owner);
    const listener = held ?? this.#listeners.keep(child, claim, handle);
    listener.users.add(child.instanceId);
    if (held) this.#rebound(held, child);
  }

  /**
   * @param {Child} child
   * @param {Claim} claim
   */
  hold(child, claim) {
    const listener = this.#listeners.get(child.scope, claim);
    listener?.users.add(child.instanceId);
    if (listener) listener.owner = child.owner;
  }

  /**
   * Reports the error to control, because an app may hide the error.
   * @param {Child} child
   * @param {Claim} claim
   * @param {string} code
   * @param {boolean} isUdp
   */
  failToListen(child, claim, code, isUdp) {
    const app = code === 'EADDRINUSE' ? (this.#listeners.holderOf(child.scope, claim)?.app ?? null) : null;
    this.#emit('listen-failed', { instanceId: child.instanceId, ...child.failedToListen(claim, { code, app, isUdp }) });
  }

  /** @param {(listener: Listener) => boolean} isMeant */
  release(isMeant) {
    for (const listener of this.#listeners.release(isMeant)) {
      if (listener.isAnnounced) this.waiting.linger(listener);
      const { key, scope, claim } = listener;
      this.#emit('released', { key });
      this.#onReleased(scope, (one) => claimKey(scope, one) === key);
      // Fork-mode processes may have inherited the socket, so they have to close their copy.
      for (const child of this.#children())
        if (child.scope === scope && child.mode === 'fork') child.tell({ act: 'released', claim });
    }
  }

  /** @param {Child} child */
  forget(child) {
    this.waiting.forget(child);
    for (const { users } of this.#listeners.all()) users.delete(child.instanceId);
    this.restorePaths(child);
    if (this.#wanted.has(child.scope)) this.#ownPorts.ended(child);
  }

  /**
   * Many apps remove the path of their Unix socket when they end, but other instances need it.
   * @param {Child} child  Is ending, or has exited.
   */
  restorePaths(child) {
    if (!this.#wanted.has(child.scope)) return;
    const held = this.#listeners.ofScope(child.scope).filter(({ claim }) => claim.family === 0);
    child.budget.run(() => {
      for (const one of held) if (this.#listeners.refresh(one, one.owner)) this.#rebound(one, child);
    });
    if (held.length > 0 && !child.exit)
      setTimeout(() => this.restorePaths(child), Math.max(LOOK_MS, child.budget.waitMs)).unref();
  }

  /** @param {Child} child */
  #mayKeepFor({ retirement, scope }) {
    return !retirement && this.#wanted.has(scope);
  }

  /**
   * Gives a temporary socket to a process that is ending. The process accepts nothing, but cannot
   * exit before its listen() has an answer.
   * @param {Child} child
   * @param {AgentMessage} message
   */
  #lend(child, { seq, claim }) {
    const { handle, giveBack } = this.#listeners.lend(child, claim);
    if (!child.tell({ act: 'socket', seq }, handle, giveBack)) giveBack();
  }

  /**
   * Announces sockets only now, because a search for a free port binds and closes many sockets.
   * @param {Child} child
   * @param {number} port
   */
  onListening({ scope, instanceId }, port) {
    for (const one of this.#listeners.ofScope(scope)) {
      if (one.bound.port !== port || !one.users.has(instanceId)) continue;
      one.hasServed = true;
      if (!one.isAnnounced) this.announce(one);
    }
    clearTimeout(this.#tidyTimers.get(scope));
    this.#tidyTimers.set(scope, setTimeout(() => this.#tidy(scope), UNUSED_AFTER_MS).unref());
  }

  /**
   * Releases the unused sockets of an app that uses another socket, because clients of an unused
   * socket would wait for ever.
   * @param {string} scope
   */
  #tidy(scope) {
    this.#tidyTimers.delete(scope);
    const held = this.#listeners.ofScope(scope);
    if (held.some(({ users }) => users.size > 0)) this.release((one) => one.scope === scope && one.users.size === 0);
  }

  /**
   * @param {Child} child
   * @param {Claim} claim
   */
  closed(child, claim) {
    const held = this.#listeners.get(child.scope, claim);
    if (!held?.users.delete(child.instanceId)) return;
    const left = child.addresses.filter(
      ({ address, port }) => address !== held.bound.address || port !== held.bound.port,
    );
    // True if this process only checked a port on which an instance has listened before. Then the
    // keeper keeps the socket for the next instance.
    const hasAsked = held.hasServed && left.length === child.addresses.length;
    child.addresses = left;
    if (held.users.size === 0 && !child.retirement && !hasAsked)
      this.release((one) => claimKey(one.scope, one.claim) === held.key);
  }
}
