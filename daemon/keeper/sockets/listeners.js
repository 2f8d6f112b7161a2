// The keeper creates each socket once and gives copies to the workers, which accept from one queue.
// It keeps its copy while the app is wanted, so that queued connections survive every worker.
import { bindAgain, BindError, bindOnce, bindToPath, REUSE_PORT } from './bind.js';
import { closeShared } from '../../../lib/shared/daemon/close-shared.js';
import { callAsOwner } from '../host/owner.js';
import { removePath, restorePath } from './unix-path.js';

/** @import { Owner } from '../host/owner.js' */
/** @import { Address } from '../protocol.js' */

const SOCKETS_MAX = 1_024;
/** UV_TCP_IPV6ONLY */
const IPV6_ONLY = 1;

/**
 * @typedef {object} Handle  A handle of libuv that node:cluster can pass to a process.
 * @property {number} fd
 * @property {() => void} close
 * @property {(out: { address?: string }) => number} [getpeername]
 * @property {(out: { address?: string, port?: number, family?: string }) => number} [getsockname]
 *   For TCP. Also returns an error of bind(2) that libuv has deferred.
 *
 * @typedef {object} Claim
 * @property {string | null} address  null: all addresses. For a Unix socket its absolute path.
 * @property {number} port  0: any.
 * @property {number} family  4, 6, or 0 for a Unix socket.
 * @property {number} flags  1: IPv6 only.
 * @property {number} index  Distinguishes the sockets of a process with port 0.
 *
 * @typedef {object} Claimant  An instance.
 * @property {string} app
 * @property {string} scope
 * @property {Owner | null} owner
 *
 * @typedef {object} Listener
 * @property {string} key
 * @property {string} app
 * @property {string} scope
 * @property {Owner | null} owner  Owner of the last claimant. Needed for Unix sockets.
 * @property {Claim} claim
 * @property {Address} bound
 * @property {Handle} handle
 * @property {boolean} isAnnounced  Control has a copy of the handle.
 * @property {boolean} hasServed  An instance has really listened, and not only checked the port.
 * @property {Set<string>} users  Instances that listen. Empty while the app restarts.
 */

/**
 * @param {string} scope
 * @param {Claim} claim
 */
export const claimKey = (scope, { address, port, family, flags, index }) =>
  [scope, address ?? '*', port, family, flags, index].join('|');

/** @param {Listener} listener */
export const describeListener = ({ key, app, scope, owner, claim, bound }) => ({
  key,
  app,
  scope,
  owner,
  claim,
  address: bound.address,
  port: bound.port,
});

export class Listeners {
  /** @type {Map<string, Listener>} */
  #table = new Map();

  /**
   * @param {string} scope
   * @param {Claim} claim
   * @param {number} [boundPort]  The port that the process has bound itself.
   */
  get(scope, claim, boundPort = 0) {
    const held = this.#table.get(claimKey(scope, claim));
    return claim.port === 0 && boundPort > 0 && held?.bound.port !== boundPort ? undefined : held;
  }

  /**
   * Brings back the path of a Unix socket before an instance listens on it.
   * @param {Listener} listener
   * @param {Owner | null} owner
   * @param {number} [boundPort]  Given: the process has bound the path itself.
   * @returns {boolean}  true: the listener has a new handle, because the path could not be restored
   *   from its spare name (unix-path.js), or was taken over.
   */
  refresh(listener, owner, boundPort) {
    const { claim } = listener;
    listener.owner = owner;
    if (claim.family !== 0) return false;
    const isTakenOver = boundPort !== undefined;
    if (!isTakenOver && callAsOwner(owner, () => restorePath(claim.address ?? ''))) return false;
    const handle = bindAgain(claim, owner, isTakenOver);
    if (handle) this.replace(listener, handle, owner);
    return handle !== null;
  }

  /**
   * Replaces a socket that clients can no longer reach.
   * @param {Listener} listener
   * @param {Handle} handle
   * @param {Owner | null} owner
   */
  replace(listener, handle, owner) {
    close(listener);
    Object.assign(listener, { handle, owner });
  }

  /** @param {string} scope */
  ofScope(scope) {
    return [...this.#table.values()].filter((one) => one.scope === scope);
  }

  all() {
    return [...this.#table.values()];
  }

  /**
   * @param {string} scope
   * @param {Claim} claim
   * @returns {boolean}
   */
  isFull(scope, claim) {
    return !this.get(scope, claim) && this.ofScope(scope).length >= SOCKETS_MAX;
  }

  /**
   * @param {Claimant} claimant
   * @param {Claim} claim
   * @param {object} [o]
   * @param {number} [o.boundPort]  Given: the process has bound the claim itself. It has left the
   *   port, and still has the path.
   * @param {boolean} [o.beside]  Share the address with an orphan of the same app.
   * @returns {Listener}  Throws BindError, or for a Unix socket also errors of the file system. If
   *   another app of nclust holds the address, the message names this app.
   */
  bind(claimant, claim, { boundPort, beside = false } = {}) {
    if (this.isFull(claimant.scope, claim)) throw new BindError('EMFILE', `an app may have ${SOCKETS_MAX} sockets`);
    const wanted = { ...claim, port: claim.port || (boundPort ?? 0) };
    const isTakenOver = beside || (claim.family === 0 && boundPort !== undefined);
    return this.keep(claimant, claim, this.#open(claimant, wanted, isTakenOver));
  }

  /**
   * @param {Claimant} claimant
   * @param {Claim} claim
   * @returns {{ handle: Handle, giveBack: () => void }}  Throws the same errors as bind().
   */
  lend(claimant, claim) {
    const lent = { owner: claimant.owner, claim, handle: this.#open(claimant, claim, false) };
    return {
      handle: lent.handle,
      giveBack() {
        close(lent);
        if (claim.family === 0) tryToRemove(lent);
      },
    };
  }

  /**
   * @param {Claimant} claimant
   * @param {Claim} claim
   * @param {boolean} isTakenOver
   */
  #open({ scope, owner }, claim, isTakenOver) {
    const holder = this.holderOf(scope, claim);
    if (holder) throw new BindError('EADDRINUSE', `held by app "${holder.app}"`);
    // With SO_REUSEPORT, a later keeper can bind beside orphans of this keeper. But the option also
    // hides a real conflict. So this first binds once without the option.
    if (claim.family === 0) return bindToPath(claim, owner, isTakenOver);
    if (!isTakenOver) bindOnce(claim, 0).close();
    return bindOnce(claim, REUSE_PORT);
  }

  /**
   * @param {Claimant} claimant
   * @param {Claim} claim
   * @param {Handle} handle
   * @returns {Listener}
   */
  keep({ app, scope, owner }, claim, handle) {
    const key = claimKey(scope, claim);
    const before = this.#table.get(key);
    const out = { address: claim.address ?? '', port: 0, family: 'pipe' };
    handle.getsockname?.(out);
    if (before) close(before);
    const listener = {
      key,
      isAnnounced: false,
      hasServed: false,
      app,
      scope,
      owner,
      claim,
      bound: { address: out.address, port: out.port, family: out.family },
      handle,
      users: new Set(),
    };
    this.#table.set(key, listener);
    return listener;
  }

  /**
   * @param {(listener: Listener) => boolean} isMeant
   * @returns {Listener[]}
   */
  release(isMeant) {
    const meant = this.all().filter(isMeant);
    for (const listener of meant) {
      this.#table.delete(listener.key);
      close(listener);
      if (listener.claim.family === 0) tryToRemove(listener);
    }
    return meant;
  }

  /**
   * @param {string} scope
   * @param {Claim} claim
   * @returns {Listener | undefined}
   */
  holderOf(scope, claim) {
    if (claim.family === 0)
      return this.all().find(
        (one) => one.scope !== scope && one.claim.family === 0 && one.claim.address === claim.address,
      );
    if (claim.port === 0) return undefined;
    return this.all().find((one) => one.scope !== scope && one.bound.port === claim.port && overlap(one, claim));
  }

  /**
   * @param {{ scope: string }} claimant
   * @param {Pick<Claim, 'address' | 'port' | 'flags'>} claim
   * @returns {Listener[]}  Listeners that accept connections to this address.
   */
  ofApp({ scope }, claim) {
    if (claim.port === 0) return [];
    return this.ofScope(scope).filter((one) => one.bound.port === claim.port && overlap(one, claim));
  }
}

/**
 * Compares addresses, because the kernel does not report every conflict: with SO_REUSEADDR, two
 * sockets may have the same address while neither listens.
 * @param {Listener} held
 * @param {Pick<Claim, 'address' | 'flags'>} wanted
 */
function overlap({ bound, claim }, wanted) {
  const spansBoth = (/** @type {Pick<Claim, 'flags'>} */ one, /** @type {string | null} */ address) =>
    (address === null || address === '::') && !(one.flags & IPV6_ONLY);
  const isSix = (/** @type {string | null} */ address) => address === null || address.includes(':');
  if (isSix(bound.address) !== isSix(wanted.address))
    return spansBoth(claim, bound.address) || spansBoth(wanted, wanted.address);
  const any = isSix(bound.address) ? '::' : '0.0.0.0';
  return (wanted.address ?? '::') === bound.address || bound.address === any || (wanted.address ?? '::') === any;
}

/**
 * Uses the rights of the owner for a path, because libuv removes the path that it has bound.
 * @param {Pick<Listener, 'owner' | 'claim' | 'handle'>} listener
 */
function close({ owner, claim, handle }) {
  if (owner) closeShared(handle, () => callAsOwner(claim.family === 0 ? owner : null, () => handle.close()));
  else handle.close();
}

/** @param {Pick<Listener, 'owner' | 'claim'>} listener */
function tryToRemove({ owner, claim }) {
  try {
    callAsOwner(owner, () => removePath(claim.address ?? ''));
  } catch {
    // The owner is not allowed to remove the path, so the path stays, as it would without nclust.
  }
}
