// Listening sockets that outlive the process: net.Server.prototype.listen asks the keeper for them, who keeps a copy of each.
'use strict';

const net = require('node:net');

/** Flags of uv_tcp_bind. */
const IPV6_ONLY = 1;
const REUSE_PORT = 2;

/** A flood of connections never leaves an empty queue. */
const TURNS_MAX = 1_000;

/**
 * @typedef {{ address: string | null, port: number, family: number, flags: number, index: number }} Claim  See daemon/keeper/listeners.js.
 * @typedef {Claim & { fd: number }} Inherited  A socket that this process was born with.
 *
 * @typedef {object} Wanted  What the app passed to listen().
 * @property {any} options
 * @property {number} port
 * @property {number | undefined} backlog
 * @property {string} calledAt  Stack frames of the call: an error that comes later still shows where the app listens.
 *
 * @typedef {{ server: any, claim: Claim, wanted: Wanted }} Use  One server on one claim.
 * @typedef {{ use: Use, generation: number, release: () => void }} Question
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
  /** @type {Set<any>} */
  servers = new Set();
  /** Connections that cannot be found from their descriptors: TLS sockets and HTTP/2 sessions. @type {Set<any>} */
  wrapped = new Set();

  /**
   * @param {import('./channel.cjs').Channel} channel
   * @param {{ isCluster?: boolean, sockets?: Inherited[] }} settings
   */
  constructor(channel, { isCluster = false, sockets = [] }) {
    this.#channel = channel;
    this.#isCluster = isCluster;
    this.#inherited = sockets;
    channel.on('socket', ({ seq }, handle) => this.#settle(seq, handle, null));
    channel.on('refused', ({ seq, code, message }) => this.#settle(seq, null, { code, message }));
    channel.on('conflict', (refusal) => this.#withdraw(refusal));
    channel.on('released', ({ claim }) => this.#dropInherited(claim));
    channel.onLost(() => this.#keeperLost());
  }

  /** Takes the place of `listen` for TCP. */
  install() {
    const held = this;
    const original = net.Server.prototype.listen;
    this.original = /** @type {(...args: unknown[]) => net.Server} */ (original);
    /** @this {net.Server}  @param {any[]} args */
    function listen(...args) {
      const [options, callback] = /** @type {any} */ (net)._normalizeArgs(args);
      if (this.listening || !isOurs(args, options)) {
        if (!this.listening) this.once('listening', () => held.#announce(this));
        return original.apply(this, /** @type {any} */ (args));
      }
      if (callback !== null) this.once('listening', callback);
      held.#listen(this, { options, port: isAnyPort(args, options) ? 0 : Number(options.port), backlog: backlogOf(args, options), calledAt: framesAbove(listen) });
      return this;
    }
    replaceMethod(net.Server.prototype, 'listen', listen);
  }

  /**
   * Stops accepting; open connections stay. The server object keeps its closed handle, so that the app's own close() works as ever:
   * with a callback that gets no error, and 'close' when the last connection has ended. (http.Server.close() here would also end idle
   * keep-alive connections and lose the requests on their way: 152 in 12 replacements.)
   * @param {() => void} then  Called when it has come about.
   */
  closeListening(then) {
    this.#isClosing = true;
    const close = () => {
      for (const server of this.servers) server._handle?.close();
      then();
    };
    if (this.#channel.isOpen()) close();
    else whenQueueIsEmpty(this.servers, close);
  }

  /** @param {any} server  @param {Wanted} wanted */
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

  /** @param {any} server  @param {Wanted} wanted  @param {string | null} address  @param {number} family */
  #hold(server, wanted, address, family) {
    const { port } = wanted;
    const index = port === 0 ? this.#nextIndex() : 0;
    /** @type {Claim} */
    const claim = { address, port, family, flags: wanted.options.ipv6Only ? IPV6_ONLY : 0, index };
    const use = { server, claim, wanted };
    const other = this.#uses.get(keyOf(claim))?.server;
    if (other && other !== server && this.#isAtWork(other)) return emitLater(use, { code: 'EADDRINUSE', message: 'by this very process' });
    this.#uses.set(keyOf(claim), use);
    if (this.#isCluster) this.#ask(use);
    else this.#listenAtOnce(use);
  }

  /** Whether a server listens or is about to. @param {any} server */
  #isAtWork(server) {
    return server._handle !== null || [...this.#asked.values()].some(({ use }) => use.server === server);
  }

  /** The lowest number that no server with port 0 has: one that is closed and opened again gets its old port. */
  #nextIndex() {
    const taken = new Set([...this.#uses.values()].filter(({ server }) => this.#isAtWork(server)).map(({ claim }) => claim.index));
    let index = 1;
    while (taken.has(index)) index += 1;
    return index;
  }

  /**
   * The keeper creates the socket, so listen() completes later, as it does in every cluster worker.
   * @param {Use} use
   */
  #ask(use) {
    if (!this.#channel.isOpen()) return this.#bindBeside(use);
    const seq = (this.#lastSeq += 1);
    this.#asked.set(seq, { use, generation: use.server._listeningId, release: this.#channel.hold() });
    this.#channel.say({ act: 'listen', seq, claim: use.claim });
  }

  /** @param {number} seq  @param {any} handle  @param {{ code: string, message: string } | null} refusal */
  #settle(seq, handle, refusal) {
    const question = this.#asked.get(seq);
    this.#asked.delete(seq);
    question?.release();
    // Without a question, or with close() called meanwhile, nobody wants it.
    if (!question || question.use.server._listeningId !== question.generation) return handle?.close();
    if (handle) this.#listenOn(question.use, handle);
    else if (refusal) this.#refuse(question.use, refusal);
  }

  /** @param {Use} use  @param {{ code: string, message: string }} refusal */
  #refuse(use, refusal) {
    this.#forget(use);
    emitLater(use, refusal);
  }

  /**
   * In fork mode listen() has done its work when it returns, as everywhere else.
   * @param {Use} use
   */
  #listenAtOnce(use) {
    const born = this.#inherited.findIndex((one) => keyOf(one) === keyOf(use.claim));
    if (born !== -1) {
      const [{ fd }] = this.#inherited.splice(born, 1);
      this.#channel.say({ act: 'taken', claim: use.claim });
      return this.#listenOn(use, openHandle(fd));
    }
    const handle = this.#channel.isOpen() ? bindAlone(use.claim) : null;
    // Somebody has the address. The keeper knows who: another app, an orphan that can be asked to let go, or we ourselves before a close().
    if (!handle) return this.#ask(use);
    this.#listenOn(use, handle);
    this.#channel.say({ act: 'bound', claim: use.claim }, handle);
  }

  /**
   * Without a keeper: beside those who listen already, where the system can do that (Node 22.12). Where it cannot, the server stays
   * silent until the next keeper replaces this process: an error would end it.
   * @param {Use} use
   */
  #bindBeside(use) {
    const handle = tryBind(use.claim, REUSE_PORT)?.handle;
    if (handle) this.#listenOn(use, handle);
  }

  /** @param {Use} use  @param {any} handle */
  #listenOn(use, handle) {
    const { server, wanted } = use;
    server.once('close', () => this.#forget(use));
    server.once('listening', () => this.#announce(server));
    this.original?.call(server, handle, wanted.backlog);
  }

  /** @param {Use} use */
  #forget(use) {
    if (this.#uses.get(keyOf(use.claim)) !== use) return;
    this.#uses.delete(keyOf(use.claim));
    if (!this.#isClosing) this.#channel.say({ act: 'closed', claim: use.claim });
  }

  /** Two apps bound one address at the same instant, and the keeper heard of the other one first. @param {any} refusal */
  #withdraw(refusal) {
    const use = this.#uses.get(keyOf(refusal.claim));
    if (!use) return;
    net.Server.prototype.close.call(use.server);
    this.#refuse(use, refusal);
  }

  /** Nobody of this app listens there any more. @param {Claim} claim */
  #dropInherited(claim) {
    const at = this.#inherited.findIndex((one) => keyOf(one) === keyOf(claim));
    if (at !== -1) openHandle(this.#inherited.splice(at, 1)[0].fd).close();
  }

  #keeperLost() {
    for (const [seq, question] of this.#asked) {
      this.#asked.delete(seq);
      question.release();
      this.#bindBeside(question.use);
    }
  }

  /** @param {any} server */
  #announce(server) {
    this.servers.add(server);
    server.once('close', () => this.servers.delete(server));
    const keep = (/** @type {any} */ one) => {
      this.wrapped.add(one);
      one.once('close', () => this.wrapped.delete(one));
    };
    if (typeof server.setSecureContext === 'function') server.prependListener('secureConnection', keep);
    if (typeof server.updateSettings === 'function') server.prependListener('session', keep);
    const address = server.address();
    if (typeof address === 'string') this.#channel.say({ act: 'listening', address, port: 0, family: 'pipe' });
    else if (address) this.#channel.say({ act: 'listening', address: address.address, port: address.port, family: address.family });
  }
}

/**
 * Whether a listen() is for a TCP port and nothing else. A pipe, a handle, `exclusive` and bad arguments go to Node.
 * @param {any[]} args
 * @param {any} options  As net normalizes them.
 */
function isOurs(args, options) {
  const { path, exclusive, fd, reusePort, _handle, handle, port } = options;
  if (path !== undefined || exclusive || reusePort || fd !== undefined || 'fd' in options || _handle || handle) return false;
  if (isAnyPort(args, options)) return true;
  if (typeof port !== 'number' && (typeof port !== 'string' || port.trim() === '')) return false;
  return Number.isInteger(Number(port)) && Number(port) >= 0 && Number(port) <= 65535;
}

/** As net.js sees it: listen(), listen(callback), listen(undefined, host), listen({ port: undefined }). @param {any[]} args  @param {any} options */
function isAnyPort(args, { port }) {
  return args.length === 0 || typeof args[0] === 'function' || port === null || (port === undefined && (typeof args[0] !== 'object' || args[0] === null || 'port' in args[0]));
}

/** @param {any[]} args  @param {any} options  @returns {number | undefined} */
function backlogOf(args, options) {
  return options.backlog ?? [args[1], args[2]].find((one) => typeof one === 'number');
}

/** @param {any} server  @param {AbortSignal | undefined} signal */
function closeOnAbort(server, signal) {
  if (!signal) return;
  const abort = () => void server.close();
  if (signal.aborted) return process.nextTick(abort);
  signal.addEventListener('abort', abort, { once: true });
  server.once('close', () => signal.removeEventListener('abort', abort));
}

/**
 * A bound handle, or null when the address is taken. SO_REUSEPORT comes second because it hides conflicts (daemon/keeper/listeners.js).
 * @param {Claim} claim
 */
function bindAlone(claim) {
  const probe = tryBind(claim, 0);
  if (!probe) return null;
  probe.handle.close();
  return tryBind({ ...claim, port: probe.port }, REUSE_PORT)?.handle ?? null;
}

/** @param {Claim} claim  @param {number} flags */
function tryBind({ address, port, family, flags: own }, flags) {
  const handle = /** @type {any} */ (net)._createServerHandle(address, port, family, undefined, own | flags);
  if (typeof handle === 'number') return null;
  const bound = { port };
  // Also reports an error of bind(2) that libuv has put off.
  if (handle.getsockname(bound) === 0) return { handle, port: bound.port };
  handle.close();
  return null;
}

/**
 * The keeper is dead and ours may be the last copy of a socket: the kernel resets what waits in its queue when that is closed. libuv accepts
 * one connection in a turn of the loop (since 1.45), so a turn that brought none has found the queue empty.
 * @param {Set<any>} servers
 * @param {() => void} then
 */
function whenQueueIsEmpty(servers, then) {
  let accepted = 0;
  const count = () => void (accepted += 1);
  for (const server of servers) server.prependListener('connection', count);
  const look = (/** @type {number} */ turns) => {
    if (accepted > 0 && turns < TURNS_MAX) {
      accepted = 0;
      return void setImmediate(look, turns + 1);
    }
    for (const server of servers) server.removeListener('connection', count);
    then();
  };
  // The first turn ends the one we are in; its count may be of connections that came before.
  setImmediate(() => setImmediate(look, 0));
}

/** @param {number} fd */
function openHandle(fd) {
  return /** @type {any} */ (net)._createServerHandle(null, 0, 4, fd);
}

/** @param {Claim} claim */
function keyOf({ address, port, family, flags, index }) {
  return [address ?? '*', port, family, flags, index].join('|');
}

/** @param {Function} own  The innermost frame that is not shown. */
function framesAbove(own) {
  const here = { stack: '' };
  Error.captureStackTrace(here, own);
  return here.stack.split('\n').slice(1).join('\n');
}

/** @param {Use} use  @param {{ code: string, message: string }} refusal */
function emitLater({ server, claim, wanted }, refusal) {
  process.nextTick(() => server.emit('error', listenError(refusal, claim, wanted.calledAt)));
}

/** The shape of Node's own error, with who holds the address. @param {{ code: string, message: string }} refusal  @param {Claim} claim  @param {string} calledAt */
function listenError({ code, message }, { address, port }, calledAt) {
  const where = `${address ?? '::'}:${port}`;
  const meaning = code === 'EADDRINUSE' ? `address already in use ${where} (${message})` : `${message} ${where}`;
  const error = new Error(`listen ${code}: ${meaning}`);
  error.stack = `Error: ${error.message}\n${calledAt}`;
  const { errno } = require('node:os').constants;
  return Object.assign(error, { code, errno: -(/** @type {any} */ (errno)[code] ?? 0), syscall: 'listen', address: address ?? '::', port });
}

/** @param {any} owner  @param {string} name  @param {Function} replacement */
function replaceMethod(owner, name, replacement) {
  const { length, name: shown } = owner[name];
  Object.defineProperties(replacement, { name: { value: shown, configurable: true }, length: { value: length, configurable: true } });
  owner[name] = replacement;
}

module.exports = { HeldSockets };
