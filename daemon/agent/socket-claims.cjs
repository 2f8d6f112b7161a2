// The keeper has a copy of each listening socket, so that the socket outlives the process.
'use strict';

const { errorMonitor } = require('node:events');
const net = require('node:net');
const { bindOwn, IPV6_ONLY, claimKey } = require('./bind.cjs');
const { isAlone } = require('./listen-args.cjs');
const { requireOnDemand } = require('./loader.cjs');
const { SocketSource } = require('./socket-source.cjs');

/** @import { Balance } from './balance.cjs' */
/** @import { Claim } from './bind.cjs' */
/** @import { Channel } from './channel.cjs' */
/** @import { Gate } from './parking.cjs' */
/** @import { ListenCall, NodeListen } from './listen-patch.cjs' */
/** @import { Servers } from './servers.cjs' */
/** @import { Inherited, Kind, Refusal } from './socket-source.cjs' */

/**
 * @typedef {object} Settings
 * @property {number} [lane]  The descriptor of the lane (channel.cjs).
 * @property {boolean} [isCluster]
 * @property {boolean} [isGated]
 * @property {string} [scheduling]
 * @property {Inherited[]} [sockets]
 *
 * @typedef {object} Use  One server on one claim.
 * @property {any} server
 * @property {Claim} claim
 * @property {ListenCall} call
 * @property {any} [handle]  The first handle of the server.
 * @property {number} [ownPort]  The port of a socket that the keeper never holds.
 * @property {Kind} [kind]  Of `handle`.
 */

class SocketClaims {
  #channel;
  #node;
  #source;
  /** By claim. A second server on the same claim gets EADDRINUSE. @type {Map<string, Use>} */
  #uses = new Map();
  #isClosing = false;
  /** @type {Gate | null} */
  #gate;
  /** @type {Balance | null} */
  balance = null;

  /**
   * @param {Channel} channel
   * @param {Servers} servers
   * @param {NodeListen} node
   * @param {Settings} settings
   */
  constructor(channel, servers, node, { lane, isCluster = false, isGated = false, scheduling = 'os', sockets = [] }) {
    this.servers = servers;
    this.#channel = channel;
    this.#node = node;
    this.#source = new SocketSource(channel, { isCluster, inherited: sockets, sendsHandles: lane === undefined });
    this.#gate = isGated ? requireOnDemand('./parking.cjs').createGate() : null;
    channel.on('conflict', (refusal) => this.#withdraw(refusal));
    channel.on('rebound', ({ claim }, handle) => this.#moveServer(claim, handle));
    channel.onLost(() => this.#loseKeeper());
    if (isCluster && scheduling !== 'os')
      this.balance = new (require('./balance.cjs').Balance)(channel, this, scheduling);
  }

  /**
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
    const other = this.#uses.get(claimKey(claim))?.server;
    if (other && other !== server && this.#isAtWork(other))
      return emitLater(use, { code: 'EADDRINUSE', message: 'by this process' });
    this.#uses.set(claimKey(claim), use);
    if (isAlone(options)) return this.#listenAlone(use);
    this.#source.obtain(
      use,
      (handle, kind) => this.#listenOn(use, handle, kind),
      (refusal) => this.#refuse(use, refusal),
    );
  }

  /**
   * @param {Claim} claim
   * @returns {any}  null: no server accepts connections on this claim.
   */
  findHandle(claim) {
    const use = this.#uses.get(claimKey(claim));
    return this.#isClosing || this.#gate ? null : (use?.server._handle ?? null);
  }

  openGate() {
    this.#gate?.open();
    this.#gate = null;
  }

  /**
   * Stops listening, but leaves open connections open.
   * @param {{ isForGood: boolean }} o  If false, listenAgain() may follow.
   * @param {() => void} then
   */
  closeListening({ isForGood }, then) {
    this.#isClosing = true;
    const { closeHandles, callWhenQuiet } = requireOnDemand('./parking.cjs');
    const close = () => {
      closeHandles(this.servers.all, isForGood ? this.#uses.values() : []);
      // Opens the gate, because a closed gate would keep the process alive.
      if (isForGood) this.openGate();
      then();
    };
    if (this.#channel.isOpen()) close();
    else callWhenQuiet(close);
  }

  /** @param {(refusal: Refusal | null) => void} then */
  listenAgain(then) {
    this.#isClosing = false;
    requireOnDemand('./parking.cjs').listenAgain([...this.#uses.values()], this.#source, then);
  }

  /**
   * Returns the lowest unused index, so that a server that closes and listens again gets its old
   * port.
   */
  #lowestFreeIndex() {
    const taken = new Set(
      [...this.#uses.values()].filter(({ server }) => this.#isAtWork(server)).map(({ claim }) => claim.index),
    );
    let index = 1;
    while (taken.has(index)) index += 1;
    return index;
  }

  /** @param {any} server */
  #isAtWork(server) {
    return server._handle !== null || this.#source.isAskedFor(server);
  }

  /**
   * Listens for a server with `exclusive` or `reusePort`. The keeper does not hold such a socket.
   * @param {Use} use
   */
  #listenAlone(use) {
    const { server, claim, call } = use;
    const bound = bindOwn(claim, call.options);
    if (bound) {
      use.ownPort = bound.port;
      return this.#listenOn(use, bound.handle);
    }
    this.#uses.delete(claimKey(claim));
    // Uses errorMonitor, so that Node.js still throws an error that the app does not handle.
    server.once(errorMonitor, (/** @type {NodeJS.ErrnoException} */ { code }) => this.#report(use, String(code)));
    // This second attempt fails too, so that Node.js emits its own error.
    this.#node.listen(server, { ...call.options, signal: undefined });
  }

  /**
   * Gives a socket of the keeper to a server that continues to listen.
   * @param {any} server
   * @param {() => void} then
   * @returns {boolean}  false: the server has such a socket, or cannot get one.
   */
  replaceHandle(server, then) {
    const use = [...this.#uses.values()].find((one) => one.server === server && (one.kind ?? 'held') !== 'held');
    if (!use || !this.#channel.isOpen()) return false;
    const { claim } = use;
    const move = (/** @type {any} */ handle) => {
      this.#moveServer(claim, handle);
      use.kind = 'held';
      this.balance?.wrap(server._handle, claim);
      then();
    };
    const ask = (/** @type {number | undefined} */ boundPort = undefined) =>
      this.#source.askKeeper(use, move, (refusal) => this.#withdraw({ ...refusal, claim }), { boundPort });
    if (use.kind === 'own') requireOnDemand('./parking.cjs').handOver(use, this.#channel, ask);
    else ask();
    return true;
  }

  /**
   * @param {Use} use
   * @param {any} handle
   * @param {Kind} [kind]
   */
  #listenOn(use, handle, kind = 'held') {
    const { server, claim, call } = use;
    Object.assign(use, { handle, kind });
    server.once('close', () => this.#release(use));
    // While the agent closes the sockets, the app sees the server as listening, but the server
    // accepts no connections.
    if (this.#isClosing) handle.listen = () => 0;
    // The gate does not shut an exclusive socket, because no other process could take its
    // connections.
    else if (!call.options.exclusive && kind !== 'stand-in') this.#gate?.shut(handle);
    this.#node.listenOn(server, handle, claim, call);
    if (use.ownPort === undefined && kind === 'held') this.balance?.wrap(handle, claim);
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
   * Reports a failure only if the server has a 'connection' listener. A server that only checks a
   * port has no such listener.
   * @param {Use} use
   * @param {string} code
   */
  #report({ server, claim }, code) {
    if (server.listenerCount('connection') > 0) this.#channel.say({ act: 'listenFailed', claim, code });
  }

  /** @param {Use} use */
  #release(use) {
    if (this.#uses.get(claimKey(use.claim)) !== use) return;
    this.#uses.delete(claimKey(use.claim));
    if (!this.#isClosing) this.#channel.say({ act: 'closed', claim: use.claim });
  }

  /**
   * Closes a server that the keeper refuses, for example because two apps bound the same address at
   * the same moment.
   * @param {any} refusal
   */
  #withdraw(refusal) {
    const use = this.#uses.get(claimKey(refusal.claim));
    if (!use) return;
    net.Server.prototype.close.call(use.server);
    this.#refuse(use, refusal);
  }

  /**
   * @param {Claim} claim
   * @param {any} handle
   */
  #moveServer(claim, handle) {
    const use = this.#uses.get(claimKey(claim));
    const isOpen = use?.server._handle || use?.kind === 'own';
    if (!use || !isOpen || this.#isClosing) return handle?.close();
    this.#gate?.shut(handle);
    requireOnDemand('./parking.cjs').moveServer(use, handle);
  }

  #loseKeeper() {
    // Opens the gate, because the keeper is gone and can no longer send 'admit'.
    this.openGate();
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
 * Like the error of Node.js, but its message names the holder of the address.
 * @param {{ code: string, message: string }} refusal
 * @param {Claim} claim
 * @param {() => string} calledAt  Stack frames. Empty: the app formats stacks itself.
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
