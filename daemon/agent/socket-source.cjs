// A process inherits its socket, or binds it and gives the keeper a copy, or asks the keeper.
'use strict';

const { bindAlone, bindBeside, claimKey, openHandle, openSubstitute } = require('./bind.cjs');
const { requireOnDemand } = require('./loader.cjs');

/** @import { Claim } from './bind.cjs' */
/** @import { Channel } from './channel.cjs' */
/** @import { Use } from './socket-claims.cjs' */

/**
 * @typedef {Claim & { fd: number }} Inherited
 * @typedef {{ code: string, message: string }} Refusal
 * @typedef {'held' | 'own' | 'stand-in'} Kind  own: this process has bound the socket, and cannot
 *   give the keeper a copy. stand-in: accepts nothing.
 * @typedef {(handle: any, kind?: Kind) => void} OnHandle  Default: held by the keeper.
 * @typedef {(refusal: Refusal) => void} OnRefused
 * @typedef {object} Request
 * @property {Use} use
 * @property {number} listeningId
 * @property {() => void} release
 * @property {OnHandle} onHandle
 * @property {OnRefused} onRefused
 */

class SocketSource {
  #channel;
  #isCluster;
  #inherited;
  #sendsHandles;
  /** @type {Map<number, Request>} */
  #requests = new Map();
  #lastSeq = 0;

  /**
   * @param {Channel} channel
   * @param {{ isCluster: boolean, inherited: Inherited[], sendsHandles: boolean }} o
   */
  constructor(channel, { isCluster, inherited, sendsHandles }) {
    this.#channel = channel;
    this.#isCluster = isCluster;
    this.#inherited = inherited;
    this.#sendsHandles = sendsHandles;
    channel.on('socket', ({ seq, isStandIn }, handle) => this.#finishRequest(seq, handle, null, isStandIn));
    channel.on('refused', ({ seq, code, message }) => this.#finishRequest(seq, null, { code, message }));
    channel.on('released', ({ claim }) => this.#takeInherited(claim)?.close());
  }

  /**
   * In fork mode, if the process has inherited the socket or the address is free, calls `onHandle`
   * synchronously, as listen() does without nclust.
   * @param {Use} use
   * @param {OnHandle} onHandle
   * @param {OnRefused} onRefused
   */
  obtain(use, onHandle, onRefused) {
    if (!this.#isCluster && this.#obtainAtOnce(use.claim, onHandle)) return;
    // In fork mode, the bind has failed, usually because the address is in use: by another app, by
    // an orphan, or because this process listened there before a close().
    if (this.#channel.isOpen()) this.askKeeper(use, onHandle, onRefused);
    else bindWithoutKeeper(use, onHandle);
  }

  /**
   * @param {Use} use
   * @param {OnHandle} onHandle
   * @param {OnRefused} onRefused
   * @param {{ boundPort?: number }} [meant]  The server continues to listen, so it needs a real
   *   socket instead of a stand-in. boundPort: the port that this process has bound before.
   */
  askKeeper(use, onHandle, onRefused, meant) {
    const seq = (this.#lastSeq += 1);
    const { _listeningId: listeningId } = use.server;
    this.#requests.set(seq, { use, listeningId, release: this.#channel.hold(), onHandle, onRefused });
    this.#channel.say({ act: 'listen', seq, claim: use.claim, isMeant: meant !== undefined, ...meant });
  }

  /** @param {any} server */
  isAskedFor(server) {
    return [...this.#requests.values()].some(({ use }) => use.server === server);
  }

  loseKeeper() {
    for (const [seq, { use, release, onHandle }] of this.#requests) {
      this.#requests.delete(seq);
      release();
      bindWithoutKeeper(use, onHandle);
    }
  }

  /**
   * @param {Claim} claim
   * @param {OnHandle} onHandle
   * @returns {boolean}  false: the process has not inherited the socket, and it cannot bind the
   *   address or its keeper is gone.
   */
  #obtainAtOnce(claim, onHandle) {
    const inherited = this.#takeInherited(claim);
    const handle = this.#channel.isOpen() && (!inherited || isLost(claim)) ? bindAlone(claim) : null;
    if (handle) {
      inherited?.close();
      // Before onHandle(), so that the keeper has the copy before the app sees 'listening'.
      if (this.#sendsHandles) process.nextTick(() => this.#giveCopy(claim, handle));
      onHandle(handle, this.#sendsHandles ? 'held' : 'own');
    } else if (inherited) {
      this.#channel.say({ act: 'socket-used', claim });
      onHandle(inherited);
    }
    return Boolean(handle ?? inherited);
  }

  /**
   * Called after the main module has finished, because Node.js sends no message, such as "booted",
   * until the keeper's acknowledgement of this handle was read.
   * @param {Claim} claim
   * @param {any} handle
   */
  #giveCopy(claim, handle) {
    if (handle.fd >= 0) this.#channel.say({ act: 'bound', claim }, handle);
  }

  /** @param {Claim} claim */
  #takeInherited(claim) {
    const at = this.#inherited.findIndex((one) => claimKey(one) === claimKey(claim));
    return at === -1 ? null : openHandle(this.#inherited.splice(at, 1)[0].fd);
  }

  /**
   * @param {number} seq
   * @param {any} handle
   * @param {Refusal | null} refusal
   * @param {boolean} [isStandIn]  The keeper sends no handle, because the app has other sockets on
   *   that port.
   */
  #finishRequest(seq, handle, refusal, isStandIn = false) {
    const request = this.#requests.get(seq);
    this.#requests.delete(seq);
    request?.release();
    // Closes the handle if the app has called close(), or if the keeper of this request has died.
    if (!request || request.use.server._listeningId !== request.listeningId) return handle?.close();
    if (isStandIn) request.onHandle(openSubstitute(request.use.claim), 'stand-in');
    else if (handle) request.onHandle(handle);
    else if (refusal) request.onRefused(refusal);
  }
}

/**
 * Binds when the keeper is gone. This fails before Node.js 22.12, and for Unix sockets. Then the
 * server gets neither a socket nor an error, because an error would end the app.
 * @param {Use} use
 * @param {OnHandle} onHandle
 */
function bindWithoutKeeper({ claim }, onHandle) {
  const handle = bindBeside(claim);
  if (handle) onHandle(handle);
}

/** @param {Claim} claim */
function isLost({ family, address }) {
  return family === 0 && !requireOnDemand('./bind-path.cjs').restorePath(address ?? '');
}

module.exports.SocketSource = SocketSource;
