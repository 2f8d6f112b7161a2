// The sockets that apps listen on. The keeper creates each one once, never polls it, and gives
// copies to the workers, who accept for themselves from one kernel queue. As it keeps its own copy,
// what is queued outlives every worker.
import { bindAgain, BindError, bindOnce, bindToPath, REUSE_PORT } from './bind.js';
import { withUid } from '../host/owner.js';
import { removePath, restorePath } from './unix-path.js';

/** @import { Owner } from '../host/owner.js' */
/** @import { Address } from '../protocol.js' */

/** Sockets of one scope. */
const SOCKETS_MAX = 1_024;
/** UV_TCP_IPV6ONLY */
const IPV6_ONLY = 1;

/**
 * @typedef {object} Handle  A libuv TCP handle, as node:cluster passes them around.
 * @property {number} fd
 * @property {() => void} close
 * @property {(out: { address?: string }) => number} [getpeername]  Of a connection.
 * @property {(out: { address?: string, port?: number, family?: string }) => number} [getsockname]
 *   Of TCP. Also reports an error of bind(2) that libuv put off.
 *
 * @typedef {object} Claim  What the app asked for.
 * @property {string | null} address  null: all addresses. Of a Unix socket its absolute path.
 * @property {number} port  0: any.
 * @property {number} family  4, 6, or 0 for a Unix socket.
 * @property {number} flags  1: IPv6 only.
 * @property {number} index  Counts the sockets of a process with port 0, which are all different.
 *
 * @typedef {object} Claimant  An instance, or what is known of one.
 * @property {string} app
 * @property {string} scope
 * @property {Owner | null} owner
 *
 * @typedef {object} Listener
 * @property {string} key
 * @property {string} app
 * @property {string} scope
 * @property {Owner | null} owner  The user of the instance that claimed it last. The keeper works on
 *   the path of a Unix socket with the rights of this user.
 * @property {Claim} claim
 * @property {Address} bound
 * @property {Handle} handle
 * @property {boolean} isAnnounced  Control has a copy of it.
 * @property {boolean} hasServed  An instance has listened on it, and not only asked whether it could.
 * @property {Set<string>} users  Instances that listen on it. Empty while the last one is being
 *   replaced.
 */

/**
 * @param {string} scope
 * @param {Claim} claim
 */
export const claimKey = (scope, { address, port, family, flags, index }) =>
  [scope, address ?? '*', port, family, flags, index].join('|');

/**
 * What control knows of a socket.
 * @param {Listener} listener
 */
export const describeListener = ({ key, app, scope, owner, claim, bound }) => ({
  key,
  app,
  scope,
  owner,
  claim,
  address: bound.address,
  port: bound.port,
});

/** The table of held sockets. */
export class Listeners {
  /** @type {Map<string, Listener>} */
  #table = new Map();

  /**
   * @param {string} scope
   * @param {Claim} claim
   */
  get(scope, claim) {
    return this.#table.get(claimKey(scope, claim));
  }

  /**
   * An app is about to listen there again.
   * @param {Listener} listener
   * @param {Owner | null} owner  Of the instance that asks.
   * @returns {boolean}  Whether it has another handle now: the folder of a Unix socket was removed
   *   with all its names, so the keeper has bound the path again.
   */
  refresh(listener, owner) {
    const { claim } = listener;
    listener.owner = owner;
    if (claim.family !== 0 || withUid(owner, () => restorePath(claim.address ?? ''))) return false;
    const handle = bindAgain(claim, owner);
    if (handle) this.replace(listener, handle, owner);
    return handle !== null;
  }

  /**
   * Another socket takes the place of one that nobody can reach any more.
   * @param {Listener} listener
   * @param {Handle} handle
   * @param {Owner | null} owner  The user who bound it.
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
   * @returns {boolean}  Whether the scope can have no socket for this claim.
   */
  isFull(scope, claim) {
    return !this.get(scope, claim) && this.ofScope(scope).length >= SOCKETS_MAX;
  }

  /**
   * Creates and keeps a socket.
   * @param {Claimant} claimant
   * @param {Claim} claim
   * @param {object} [o]
   * @param {boolean} [o.beside]  Share the address with a process that already listens there: an
   *   orphan of the same app.
   * @returns {Listener}  Throws BindError; the message names the app that holds the address.
   */
  bind(claimant, claim, { beside = false } = {}) {
    if (this.isFull(claimant.scope, claim)) throw new BindError('EMFILE', `an app may have ${SOCKETS_MAX} sockets`);
    return this.keep(claimant, claim, this.#open(claimant, claim, beside));
  }

  /**
   * Creates a socket, and keeps it only until it has been passed on.
   * @param {Claimant} claimant
   * @param {Claim} claim
   * @returns {{ handle: Handle, giveBack: () => void }}  Throws BindError.
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
   * @param {boolean} beside
   */
  #open({ scope, owner }, claim, beside) {
    const holder = this.holderOf(scope, claim);
    if (holder) throw new BindError('EADDRINUSE', `held by app "${holder.app}"`);
    // SO_REUSEPORT is what lets a later keeper bind beside orphans of this one, but it also hides a
    // real conflict. So first without.
    if (claim.family === 0) return bindToPath(claim, owner, beside);
    if (!beside) bindOnce(claim, 0).close();
    return bindOnce(claim, REUSE_PORT);
  }

  /**
   * @param {Claimant} claimant
   * @param {Claim} claim
   * @param {Handle} handle  Bound by the app itself, or handed over from the keeper before.
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
   * @returns {Listener[]}  Closed: from now on connections there are refused.
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
   * @returns {Listener | undefined}  Of another app. Within an app the kernel knows best.
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
   * @returns {Listener[]}  The sockets of the app itself that take connections to this address.
   */
  ofApp({ scope }, claim) {
    if (claim.port === 0) return [];
    return this.ofScope(scope).filter((one) => one.bound.port === claim.port && overlap(one, claim));
  }
}

/**
 * Two sockets that are bound but not yet listening do not conflict for the kernel (SO_REUSEADDR),
 * so the table has to know.
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
 * With the rights of its owner, because libuv also removes the name that it has bound.
 * @param {Pick<Listener, 'owner' | 'handle'>} listener
 */
function close({ owner, handle }) {
  withUid(owner, () => handle.close());
}

/** @param {Pick<Listener, 'owner' | 'claim'>} listener */
function tryToRemove({ owner, claim }) {
  try {
    withUid(owner, () => removePath(claim.address ?? ''));
  } catch {
    // Its user cannot remove it any more, or never could. It stays, as it does without nclust.
  }
}
