// Listening sockets that outlive the process: net.Server.prototype.listen asks the keeper for them,
// who keeps a copy of each.
'use strict';

const net = require('node:net');
const path = require('node:path');
const { bindAlone, bindBeside, bindOwn, IPV6_ONLY, keyOf, openHandle } = require('./bind.cjs');
const { later } = require('./loader.cjs');
const { Servers } = require('./servers.cjs');
const { backlogOf, closeOnAbort, framesAbove, isAlone, kindOf, portOf, replaceMethod } = require('./listen-args.cjs');

/** @import { Claim } from './bind.cjs' */
/** @import { Channel } from './channel.cjs' */
/** @import { Gate } from './gate.cjs' */

/**
 * @typedef {Claim & { fd: number }} Inherited  A socket that this process was born with.
 *
 * @typedef {object} Wanted  What the app passed to listen().
 * @property {any} options
 * @property {number} port
 * @property {number | undefined} backlog
 * @property {() => string} calledAt  Stack frames of the call: an error that comes later still
 *   shows where the app listens.
 *
 * @typedef {{ server: any, claim: Claim, wanted: Wanted, handle?: any, ownPort?: number }} Use  One
 *   server on one claim. handle: the first it had. ownPort: of a socket that the keeper does not
 *   hold.
 * @typedef {object} Question
 * @property {Use} use
 * @property {number} generation
 * @property {() => void} release
 * @property {(handle: any) => void} then
 * @property {(refusal: Refusal) => void} otherwise
 * @typedef {{ code: string, message: string }} Refusal
 */

/** The servers of this process and the sockets they listen on. */
class HeldSockets {
  #channel;
  #isCluster;
  #inherited;
  /** @type {Map<string, Use>} By claim: a second server on one claim is a real EADDRINUSE. */
  #uses = new Map();
  /** @type {Map<number, Question>} */
  #asked = new Map();
  #lastSeq = 0;
  #isClosing = false;
  /**
   * What each server that was about to listen calls when it does.
   * @type {WeakMap<any, () => void>}
   */
  #announcers = new WeakMap();
  /** @type {Gate | null} */
  #gate;
  /**
   * Shares connections with the other workers of the app.
   * @type {InstanceType<typeof import('./balance.cjs').Balance> | null}
   */
  balance = null;
  servers = new Servers();

  /**
   * @param {Channel} channel
   * @param {{ isCluster?: boolean, isGated?: boolean, scheduling?: string, sockets?: Inherited[] }}
   *   settings
   */
  constructor(channel, { isCluster = false, isGated = false, scheduling = 'os', sockets = [] }) {
    this.#channel = channel;
    this.#isCluster = isCluster;
    this.#inherited = sockets;
    this.#gate = isGated ? require('./gate.cjs').createGate() : null;
    channel.on('socket', ({ seq }, handle) => this.#settle(seq, handle, null));
    channel.on('refused', ({ seq, code, message }) => this.#settle(seq, null, { code, message }));
    channel.on('conflict', (refusal) => this.#withdraw(refusal));
    channel.on('released', ({ claim }) => this.#takeInherited(claim)?.close());
    channel.on('rebound', ({ claim }, handle) => this.#moveTo(claim, handle));
    channel.onLost(() => this.#keeperLost());
    if (isCluster && scheduling !== 'os')
      this.balance = new (require('./balance.cjs').Balance)(channel, this, scheduling);
  }

  /** Takes the place of `listen`. */
  install() {
    const held = this;
    const original = net.Server.prototype.listen;
    this.original = /** @type {(...args: unknown[]) => net.Server} */ (original);
    /**
     * @this {net.Server}
     * @param {any[]} args
     */
    function listen(...args) {
      const [options, callback] = /** @type {any} */ (net)._normalizeArgs(args);
      const kind = this.listening ? null : kindOf(args, options);
      if (kind === null) {
        if (!this.listening) held.#announceLater(this);
        return original.apply(this, /** @type {any} */ (args));
      }
      if (callback !== null) this.once('listening', callback);
      const wanted = {
        options,
        port: kind === 'tcp' ? portOf(args, options) : 0,
        backlog: backlogOf(args, options),
        calledAt: framesAbove(listen),
      };
      if (kind === 'tcp') held.#listen(this, wanted);
      else held.#listenOnPath(this, wanted);
      return this;
    }
    replaceMethod(net.Server.prototype, 'listen', listen);
  }

  /**
   * Stops accepting; open connections stay. The server object keeps its closed handle, so that the
   * app's own close() works as ever: with a callback that gets no error, and 'close' when the last
   * connection has ended. (http.Server.close() here would also end idle keep-alive connections and
   * lose the requests on their way: 152 in 12 replacements.)
   * @param {{ isForGood: boolean }} o  Else it may be taken back.
   * @param {() => void} then  Called when it has come about.
   */
  closeListening({ isForGood }, then) {
    this.#isClosing = true;
    const close = () => {
      for (const server of this.servers.all) if (server._handle) closeKept(server._handle);
      // The primary of a node:cluster of the app's own has taken the handle from its server. While
      // it is parked it goes on serving.
      if (isForGood) for (const { server, handle } of this.#uses.values()) if (server._handle === null) handle?.close();
      // They are closed, and none of them will be polled: a gate must not keep the process from its
      // end.
      if (isForGood) this.admit();
      then();
    };
    if (this.#channel.isOpen()) close();
    else later('./close-when-idle.cjs').whenQuiet(close);
  }

  /**
   * Takes closeListening() back: the sockets come from the keeper anew.
   * @param {(refusal: Refusal | null) => void} then  Called when all of them are listened on, or
   *   one cannot be had.
   */
  listenAgain(then) {
    this.#isClosing = false;
    const closed = [...this.#uses.values()].filter(({ server }) => server._handle !== null);
    let left = closed.length;
    if (left === 0) then(null);
    for (const use of closed) {
      const again = (/** @type {any} */ handle) => {
        reattach(use, handle);
        left -= 1;
        if (left === 0) then(null);
      };
      if (use.ownPort === undefined) this.#question(use, again, then);
      else listenAgainAlone(use, use.ownPort, again, then);
    }
  }

  /** Begins to accept what was bound behind the gate. */
  admit() {
    this.#gate?.open();
    this.#gate = null;
  }

  /**
   * @param {Claim} claim
   * @returns {any}  The handle that is listened on there.
   */
  handleOf(claim) {
    const use = this.#uses.get(keyOf(claim));
    return this.#isClosing || this.#gate ? null : (use?.server._handle ?? null);
  }

  /**
   * @param {any} server
   * @param {Wanted} wanted
   */
  #listen(server, wanted) {
    const { host, signal } = wanted.options;
    closeOnAbort(server, signal);
    server._listeningId = (server._listeningId ?? 0) + 1;
    if (!host) return this.#hold(server, wanted, null, 4);
    const generation = server._listeningId;
    // As net.js does it: an address goes through lookup() too.
    require('node:dns').lookup(host, (error, address, family) => {
      if (server._listeningId !== generation) return;
      if (error) server.emit('error', error);
      else this.#hold(server, wanted, address, family === 6 ? 6 : 4);
    });
  }

  /**
   * @param {any} server
   * @param {Wanted} wanted
   */
  #listenOnPath(server, wanted) {
    closeOnAbort(server, wanted.options.signal);
    server._listeningId = (server._listeningId ?? 0) + 1;
    server._pipeName = wanted.options.path;
    this.#hold(server, wanted, path.resolve(wanted.options.path), 0);
  }

  /**
   * @param {any} server
   * @param {Wanted} wanted
   * @param {string | null} address
   * @param {number} family
   */
  #hold(server, wanted, address, family) {
    const { port } = wanted;
    const index = port === 0 && family !== 0 ? this.#nextIndex() : 0;
    /** @type {Claim} */
    const claim = { address, port, family, flags: wanted.options.ipv6Only ? IPV6_ONLY : 0, index };
    const use = { server, claim, wanted };
    const other = this.#uses.get(keyOf(claim))?.server;
    if (other && other !== server && this.#isAtWork(other))
      return emitLater(use, { code: 'EADDRINUSE', message: 'by this very process' });
    this.#uses.set(keyOf(claim), use);
    if (isAlone(wanted.options)) this.#listenAlone(use);
    else if (this.#isCluster) this.#ask(use);
    else this.#listenAtOnce(use);
  }

  /**
   * `exclusive` and `reusePort`: nobody holds the socket for a successor, but a parked process can
   * listen on it again.
   * @param {Use} use
   */
  #listenAlone(use) {
    const { server, claim, wanted } = use;
    const bound = bindOwn(claim, wanted.options);
    if (bound) {
      use.ownPort = bound.port;
      return this.#listenOn(use, bound.handle);
    }
    this.#uses.delete(keyOf(claim));
    this.#announceLater(server);
    this.original?.call(server, { ...wanted.options, signal: undefined }); // Fails, and says why in Node's own words.
  }

  /**
   * Whether a server listens or is about to.
   * @param {any} server
   */
  #isAtWork(server) {
    return server._handle !== null || [...this.#asked.values()].some(({ use }) => use.server === server);
  }

  /**
   * The lowest number that no server with port 0 has: one that is closed and opened again gets its
   * old port.
   */
  #nextIndex() {
    const taken = new Set(
      [...this.#uses.values()].filter(({ server }) => this.#isAtWork(server)).map(({ claim }) => claim.index),
    );
    let index = 1;
    while (taken.has(index)) index += 1;
    return index;
  }

  /**
   * The keeper creates the socket, so listen() completes later, as it does in every cluster worker.
   * @param {Use} use
   */
  #ask(use) {
    if (this.#channel.isOpen()) this.#question(use, (handle) => this.#listenOn(use, handle));
    else this.#listenBeside(use);
  }

  /**
   * @param {Use} use
   * @param {(handle: any) => void} then
   * @param {(refusal: Refusal) => void} [otherwise]
   */
  #question(use, then, otherwise = (refusal) => this.#refuse(use, refusal)) {
    const seq = (this.#lastSeq += 1);
    this.#asked.set(seq, { use, generation: use.server._listeningId, release: this.#channel.hold(), then, otherwise });
    this.#channel.say({ act: 'listen', seq, claim: use.claim });
  }

  /**
   * @param {number} seq
   * @param {any} handle
   * @param {{ code: string, message: string } | null} refusal
   */
  #settle(seq, handle, refusal) {
    const question = this.#asked.get(seq);
    this.#asked.delete(seq);
    question?.release();
    // Without a question, or with close() called meanwhile, nobody wants it.
    if (!question || question.use.server._listeningId !== question.generation) return handle?.close();
    if (handle) question.then(handle);
    else if (refusal) question.otherwise(refusal);
  }

  /**
   * @param {Use} use
   * @param {{ code: string, message: string }} refusal
   */
  #refuse(use, refusal) {
    this.#forget(use);
    emitLater(use, refusal);
  }

  /**
   * In fork mode listen() has done its work when it returns, as everywhere else.
   * @param {Use} use
   */
  #listenAtOnce(use) {
    const inherited = this.#takeInherited(use.claim);
    const handle = this.#channel.isOpen() && (!inherited || isLost(use.claim)) ? bindAlone(use.claim) : null;
    if (handle) {
      inherited?.close();
      this.#listenOn(use, handle);
      this.#channel.say({ act: 'bound', claim: use.claim }, handle);
    } else if (inherited) {
      this.#channel.say({ act: 'taken', claim: use.claim });
      this.#listenOn(use, inherited);
    } else {
      // Somebody has the address. The keeper knows who: another app, an orphan that can be asked to
      // let go, or we ourselves before a close().
      this.#ask(use);
    }
  }

  /**
   * Without a keeper: beside those who listen already, where the system can do that (Node 22.12).
   * Where it cannot, the server stays silent until the next keeper replaces this process: an error
   * would end it.
   * @param {Use} use
   */
  #listenBeside(use) {
    const handle = bindBeside(use.claim);
    if (handle) this.#listenOn(use, handle);
  }

  /**
   * @param {Use} use
   * @param {any} handle
   */
  #listenOn(use, handle) {
    const { server, claim, wanted } = use;
    use.handle = handle;
    server.once('close', () => this.#forget(use));
    this.#announceLater(server);
    // It was asked for before the process was to end: for the app it listens, and can be closed.
    if (this.#isClosing) handle.listen = () => 0;
    // Nobody else can take the connections of an exclusive socket: shut, it would refuse them.
    else if (!wanted.options.exclusive) this.#gate?.shut(handle);
    if (claim.family !== 0) this.original?.call(server, handle, wanted.backlog);
    else {
      // listen() takes a handle of TCP only; this is what it does with one (lib/net.js).
      server._handle = handle;
      server._listen2(claim.address, -1, -1, wanted.backlog);
    }
    if (use.ownPort === undefined) this.balance?.wrap(handle, claim);
  }

  /** @param {Use} use */
  #forget(use) {
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
   * What this process was born with for a claim, once.
   * @param {Claim} claim
   * @returns {any}
   */
  #takeInherited(claim) {
    const at = this.#inherited.findIndex((one) => keyOf(one) === keyOf(claim));
    return at === -1 ? null : openHandle(this.#inherited.splice(at, 1)[0].fd);
  }

  /**
   * The socket we listen on has lost its path, and this one has it.
   * @param {Claim} claim
   * @param {any} handle
   */
  #moveTo(claim, handle) {
    const use = this.#uses.get(keyOf(claim));
    const lost = use?.server._handle;
    if (!use || !lost || this.#isClosing) return handle?.close();
    this.#gate?.shut(handle);
    reattach(use, handle);
    // Who is in its queue gets an answer.
    later('./close-when-idle.cjs').whenQuiet(() => lost.close());
  }

  #keeperLost() {
    // Better to serve too early than never: nobody is left to open it.
    this.admit();
    this.balance?.lost();
    for (const [seq, question] of this.#asked) {
      this.#asked.delete(seq);
      question.release();
      const handle = bindBeside(question.use.claim);
      if (handle) question.then(handle);
    }
  }

  /**
   * Once, however often it tries to listen.
   * @param {any} server
   */
  #announceLater(server) {
    const announce = this.#announcers.get(server) ?? (() => this.#announce(server));
    this.#announcers.set(server, announce);
    server.removeListener('listening', announce).once('listening', announce);
  }

  /** @param {any} server */
  #announce(server) {
    this.servers.add(server);
    const address = server.address();
    if (typeof address === 'string') this.#channel.say({ act: 'listening', address, port: 0, family: 'pipe' });
    else if (address)
      this.#channel.say({ act: 'listening', address: address.address, port: address.port, family: address.family });
  }
}

/**
 * @param {Use} use
 * @param {number} port
 * @param {(handle: any) => void} then
 * @param {(refusal: Refusal) => void} otherwise
 */
function listenAgainAlone({ claim, wanted }, port, then, otherwise) {
  const bound = bindOwn({ ...claim, port }, wanted.options);
  if (bound) then(bound.handle);
  else otherwise({ code: 'EADDRINUSE', message: `port ${port} was taken meanwhile` });
}

/**
 * Whether nobody can reach a socket any more.
 * @param {Claim} claim
 */
function isLost({ family, address }) {
  return family === 0 && !later('./bind-path.cjs').restorePath(address ?? '');
}

/**
 * The app may go on asking where it listens.
 * @param {any} handle
 */
function closeKept(handle) {
  const name = {};
  if (handle.getsockname?.(name) === 0)
    handle.getsockname = (/** @type {object} */ out) => (Object.assign(out, name), 0);
  handle.close();
}

/**
 * Gives a server another handle in place of the one that was closed.
 * @param {Use} use
 * @param {any} handle
 */
function reattach({ server, wanted }, handle) {
  const closed = server._handle;
  const owner = Object.getOwnPropertySymbols(closed).find((symbol) => closed[symbol] === server);
  if (owner) handle[owner] = server;
  handle.onconnection = closed.onconnection;
  handle.accept = closed.accept;
  server._handle = handle;
  if (server._unref) handle.unref();
  handle.listen(wanted.backlog ?? DEFAULT_BACKLOG);
}

/** Of lib/net.js. */
const DEFAULT_BACKLOG = 511;

/**
 * @param {Use} use
 * @param {{ code: string, message: string }} refusal
 */
function emitLater({ server, claim, wanted }, refusal) {
  process.nextTick(() =>
    server.emit('error', later('./listen-error.cjs').listenError(refusal, claim, wanted.calledAt)),
  );
}

module.exports = { HeldSockets };
