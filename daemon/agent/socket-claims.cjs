// Which server of this process has which claim on a listening socket, and whether it accepts there.
// The keeper has a copy of each socket, so that it outlives the process.
'use strict';

const { errorMonitor } = require('node:events');
const net = require('node:net');
const { bindOwn, IPV6_ONLY, keyOf } = require('./bind.cjs');
const { isAlone } = require('./listen-args.cjs');
const { later } = require('./loader.cjs');
const { SocketSource } = require('./socket-source.cjs');

/** @import { Balance } from './balance.cjs' */
/** @import { Claim } from './bind.cjs' */
/** @import { Channel } from './channel.cjs' */
/** @import { Gate } from './parking.cjs' */
/** @import { ListenCall, NodeListen } from './listen-patch.cjs' */
/** @import { Servers } from './servers.cjs' */
/** @import { Inherited, Refusal } from './socket-source.cjs' */

/**
 * @typedef {{ isCluster?: boolean, isGated?: boolean, scheduling?: string, sockets?: Inherited[] }}
 *   Settings
 * @typedef {{ server: any, claim: Claim, call: ListenCall, handle?: any, ownPort?: number, isStandIn?: boolean }}
 *   Use  One server on one claim. handle: the first it had. ownPort: of a socket that the keeper
 *   does not hold.
 */

class SocketClaims {
  #channel;
  #node;
  #source;
  /** @type {Map<string, Use>} By claim: a second server on one claim is a real EADDRINUSE. */
  #uses = new Map();
  #isClosing = false;
  /** @type {Gate | null} */
  #gate;
  /** Shares connections with the other workers of the app. @type {Balance | null} */
  balance = null;

  /**
   * @param {Channel} channel
   * @param {Servers} servers
   * @param {NodeListen} node
   * @param {Settings} settings
   */
  constructor(channel, servers, node, { isCluster = false, isGated = false, scheduling = 'os', sockets = [] }) {
    this.servers = servers;
    this.#channel = channel;
    this.#node = node;
    this.#source = new SocketSource(channel, { isCluster, inherited: sockets });
    this.#gate = isGated ? later('./parking.cjs').createGate() : null;
    channel.on('conflict', (refusal) => this.#withdraw(refusal));
    channel.on('rebound', ({ claim }, handle) => this.#moveTo(claim, handle));
    channel.onLost(() => this.#loseKeeper());
    if (isCluster && scheduling !== 'os')
      this.balance = new (require('./balance.cjs').Balance)(channel, this, scheduling);
  }

  /**
   * Makes a server listen.
   * @param {any} server
   * @param {ListenCall} call
   * @param {string | null} address
   * @param {number} family
   */
  claim(server, call, address, family) {
    const { options, port } = call;
    const index = port === 0 && family !== 0 ? this.#lowestFreeIndex() : 0;
    /** @type {Claim} */
    const claim = { address, port, family, flags: options.ipv6Only ? IPV6_ONLY : 0, index };
    const use = { server, claim, call };
    const other = this.#uses.get(keyOf(claim))?.server;
    if (other && other !== server && this.#isAtWork(other))
      return emitLater(use, { code: 'EADDRINUSE', message: 'by this very process' });
    this.#uses.set(keyOf(claim), use);
    if (isAlone(options)) return this.#listenAlone(use);
    this.#source.obtain(
      use,
      (handle, isStandIn) => this.#listenOn(use, handle, isStandIn),
      (refusal) => this.#refuse(use, refusal),
    );
  }

  /**
   * @param {Claim} claim
   * @returns {any}  The handle on which a server accepts. null: none does.
   */
  findHandle(claim) {
    const use = this.#uses.get(keyOf(claim));
    return this.#isClosing || this.#gate ? null : (use?.server._handle ?? null);
  }

  /** Begins to accept on the sockets behind the gate. */
  admit() {
    this.#gate?.open();
    this.#gate = null;
  }

  /**
   * Stops accepting; open connections stay.
   * @param {{ isForGood: boolean }} o  Else listenAgain() may follow.
   * @param {() => void} then  Called when the sockets are closed.
   */
  closeListening({ isForGood }, then) {
    this.#isClosing = true;
    const { closeHandles, whenQuiet } = later('./parking.cjs');
    const close = () => {
      closeHandles(this.servers.all, isForGood ? this.#uses.values() : []);
      // None of them will be polled any more: a gate must not keep the process from its end.
      if (isForGood) this.admit();
      then();
    };
    if (this.#channel.isOpen()) close();
    else whenQuiet(close);
  }

  /**
   * Takes closeListening() back: the keeper sends the sockets again.
   * @param {(refusal: Refusal | null) => void} then  Called when all of them are listened on, and
   *   for each that is refused.
   */
  listenAgain(then) {
    this.#isClosing = false;
    later('./parking.cjs').listenAgain([...this.#uses.values()], this.#source, then);
  }

  /**
   * The lowest number that no server with port 0 has: one that is closed and opened again gets its
   * old port.
   */
  #lowestFreeIndex() {
    const taken = new Set(
      [...this.#uses.values()].filter(({ server }) => this.#isAtWork(server)).map(({ claim }) => claim.index),
    );
    let index = 1;
    while (taken.has(index)) index += 1;
    return index;
  }

  /**
   * Whether a server listens or is about to.
   * @param {any} server
   */
  #isAtWork(server) {
    return server._handle !== null || this.#source.isAskedFor(server);
  }

  /**
   * `exclusive` and `reusePort`: no process holds the socket for a successor, but a parked process
   * can listen on it again.
   * @param {Use} use
   */
  #listenAlone(use) {
    const { server, claim, call } = use;
    const bound = bindOwn(claim, call.options);
    if (bound) {
      use.ownPort = bound.port;
      return this.#listenOn(use, bound.handle);
    }
    this.#uses.delete(keyOf(claim));
    // Unlike a listener for 'error' it does not count as one: an error that the app does not handle
    // still throws.
    server.once(errorMonitor, (/** @type {NodeJS.ErrnoException} */ { code }) => this.#report(use, String(code)));
    this.#node.listen(server, { ...call.options, signal: undefined }); // Fails, and says why in Node's own words.
  }

  /**
   * A server that has a stand-in goes on listening, so it gets its socket.
   * @param {any} server
   * @param {() => void} then  Called when it has.
   * @returns {boolean}  false: it has no stand-in.
   */
  replaceStandIn(server, then) {
    const use = [...this.#uses.values()].find((one) => one.server === server && one.isStandIn);
    if (!use) return false;
    const { claim } = use;
    const move = (/** @type {any} */ handle) => {
      use.isStandIn = false;
      this.#moveTo(claim, handle);
      this.balance?.wrap(server._handle, claim);
      then();
    };
    this.#source.askKeeper(use, move, (refusal) => this.#withdraw({ ...refusal, claim }), true);
    return true;
  }

  /**
   * @param {Use} use
   * @param {any} handle
   * @param {boolean} [isStandIn]
   */
  #listenOn(use, handle, isStandIn = false) {
    const { server, claim, call } = use;
    Object.assign(use, { handle, isStandIn });
    server.once('close', () => this.#release(use));
    // It was asked for before the process was to end: for the app it listens, and can be closed.
    if (this.#isClosing) handle.listen = () => 0;
    // No other process can take the connections of an exclusive socket: shut, it would refuse them.
    else if (!call.options.exclusive && !isStandIn) this.#gate?.shut(handle);
    this.#node.listenOn(server, handle, claim, call);
    if (use.ownPort === undefined && !isStandIn) this.balance?.wrap(handle, claim);
  }

  /**
   * @param {Use} use
   * @param {Refusal} refusal
   */
  #refuse(use, refusal) {
    this.#release(use);
    this.#report(use, refusal.code);
    emitLater(use, refusal);
  }

  /**
   * A server without a listener for connections only finds out whether a port is free.
   * @param {Use} use
   * @param {string} code
   */
  #report({ server, claim }, code) {
    if (server.listenerCount('connection') > 0) this.#channel.say({ act: 'listenFailed', claim, code });
  }

  /** @param {Use} use */
  #release(use) {
    if (this.#uses.get(keyOf(use.claim)) !== use) return;
    this.#uses.delete(keyOf(use.claim));
    if (!this.#isClosing) this.#channel.say({ act: 'closed', claim: use.claim });
  }

  /**
   * Two apps bound one address at the same instant, and the keeper heard of the other one first.
   * @param {any} refusal
   */
  #withdraw(refusal) {
    const use = this.#uses.get(keyOf(refusal.claim));
    if (!use) return;
    net.Server.prototype.close.call(use.server);
    this.#refuse(use, refusal);
  }

  /**
   * The socket of a claim has lost its path, and this one has it.
   * @param {Claim} claim
   * @param {any} handle
   */
  #moveTo(claim, handle) {
    const use = this.#uses.get(keyOf(claim));
    if (!use?.server._handle || this.#isClosing) return handle?.close();
    this.#gate?.shut(handle);
    later('./parking.cjs').moveTo(use, handle);
  }

  #loseKeeper() {
    // Better to serve too early than never: no other process can open the gate.
    this.admit();
    this.balance?.lost();
    this.#source.loseKeeper();
  }
}

/**
 * @param {Use} use
 * @param {Refusal} refusal
 */
function emitLater({ server, claim, call }, refusal) {
  process.nextTick(() => server.emit('error', listenError(refusal, claim, call.calledAt)));
}

/**
 * The shape of Node's own error, with who holds the address.
 * @param {{ code: string, message: string }} refusal
 * @param {Claim} claim
 * @param {() => string} calledAt  Stack frames of the listen(). Empty: the stack of the error is as
 *   the app wants stacks to be.
 */
function listenError({ code, message }, { address, port, family }, calledAt) {
  const { errno } = require('node:os').constants;
  const where = family === 0 ? address : `${address ?? '::'}:${port}`;
  const meaning = code === 'EADDRINUSE' ? `address already in use ${where} (${message})` : `${message} ${where}`;
  const error = new Error(`listen ${code}: ${meaning}`);
  const frames = calledAt();
  if (frames !== '') error.stack = `Error: ${error.message}\n${frames}`;
  const number = -(/** @type {any} */ (errno)[code] ?? 0);
  return Object.assign(error, {
    code,
    errno: number,
    syscall: 'listen',
    address: address ?? '::',
    port: family === 0 ? -1 : port,
  });
}

module.exports.SocketClaims = SocketClaims;
