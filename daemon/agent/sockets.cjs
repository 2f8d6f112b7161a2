// Listening sockets that outlive the process: net.Server.prototype.listen asks the keeper for them, who keeps a copy of each.
'use strict';

const net = require('node:net');

/** Flags of uv_tcp_bind. */
const IPV6_ONLY = 1;
const REUSE_PORT = 2;

/**
 * @typedef {{ address: string | null, port: number, family: number, flags: number, index: number }} Claim  See daemon/keeper/listeners.js.
 * @typedef {Claim & { fd: number }} Inherited  A socket that this process was born with.
 * @typedef {object} Sockets
 * @property {() => Set<net.Server>} servers  Those that listen.
 * @property {() => void} closeListening  Stops accepting; open connections stay.
 *
 * @typedef {object} Listen  What the app passed to listen(), in one shape.
 * @property {net.ListenOptions & { reusePort?: boolean, fd?: number, _handle?: unknown, handle?: unknown }} options
 * @property {number | undefined} backlog
 * @property {string} calledAt  Stack frames of the call: an error that comes later still shows where the app listens.
 */

/**
 * @param {import('./channel.cjs').Channel} channel
 * @param {{ isCluster?: boolean, sockets?: Inherited[] }} settings
 * @returns {Sockets}
 */
function holdSockets(channel, { isCluster = false, sockets: inherited = [] }) {
  const original = net.Server.prototype.listen;
  /** @type {Set<net.Server>} */
  const servers = new Set();
  /** @type {Set<string>} Claims of this process that are in use: a second listen() on one is a real EADDRINUSE. */
  const inUse = new Set();
  /** @type {Map<number, { server: net.Server, resolve: (handle: any, refusal?: any) => void }>} */
  const asked = new Map();
  let seq = 0;
  let anyPorts = 0;
  let isClosing = false;

  channel.on('socket', (message, handle) => settle(message.seq, handle));
  channel.on('refused', (message) => settle(message.seq, null, message));
  /** @param {number} id  @param {any} handle  @param {any} [refusal] */
  const settle = (id, handle, refusal) => {
    asked.get(id)?.resolve(handle, refusal);
    asked.delete(id);
  };

  /** @param {net.Server} server */
  const announce = (server) => {
    servers.add(server);
    server.once('close', () => servers.delete(server));
    const address = server.address();
    if (typeof address === 'string') channel.say({ act: 'listening', address, port: 0, family: 'pipe' });
    else if (address) channel.say({ act: 'listening', address: address.address, port: address.port, family: address.family });
  };

  /** Listens on a handle that the keeper has a copy of. @param {net.Server} server  @param {Claim} claim  @param {any} handle  @param {number | undefined} backlog */
  const listenOn = (server, claim, handle, backlog) => {
    const key = JSON.stringify(claim);
    inUse.add(key);
    server.once('close', () => {
      inUse.delete(key);
      if (!isClosing) channel.say({ act: 'closed', claim });
    });
    server.once('listening', () => announce(server));
    /** @type {(...args: unknown[]) => net.Server} */ (original).call(server, handle, backlog);
  };

  /** The keeper creates the socket, so listen() completes later, as it does in every cluster worker. @param {net.Server} server  @param {Claim} claim  @param {Listen} wanted */
  const ask = (server, claim, { backlog, calledAt }) => {
    const id = (seq += 1);
    const generation = /** @type {any} */ (server)._listeningId;
    const release = channel.hold();
    asked.set(id, {
      server,
      resolve(handle, refusal) {
        release();
        // close() was called meanwhile.
        if (/** @type {any} */ (server)._listeningId !== generation) return handle?.close();
        if (handle) listenOn(server, claim, handle, backlog);
        else process.nextTick(() => server.emit('error', listenError(refusal, claim, calledAt)));
      },
    });
    if (!channel.say({ act: 'listen', seq: id, claim })) {
      asked.delete(id);
      release();
      bindAlone(server, claim, backlog);
    }
  };

  /** No keeper at the moment: exclusive keeps node:cluster from asking a primary that is gone. @param {net.Server} server  @param {Claim} claim  @param {number | undefined} backlog */
  const bindAlone = (server, claim, backlog) => {
    server.once('listening', () => announce(server));
    original.call(server, { port: claim.port, host: claim.address ?? undefined, ipv6Only: (claim.flags & IPV6_ONLY) !== 0, backlog, exclusive: true });
  };

  /** In fork mode listen() has done its work when it returns, as everywhere else. @param {net.Server} server  @param {Claim} claim  @param {Listen} wanted */
  const listenAtOnce = (server, claim, wanted) => {
    const { backlog } = wanted;
    const born = inherited.findIndex((one) => sameClaim(one, claim));
    if (born !== -1) {
      const [{ fd }] = inherited.splice(born, 1);
      return listenOn(server, claim, openHandle(fd), backlog);
    }
    const handle = channel.isOpen() ? bindHandle(claim) : null;
    // Somebody has the address. The keeper knows who, and whether it is an orphan that can be asked to let go.
    if (!handle) return ask(server, claim, wanted);
    listenOn(server, claim, handle, backlog);
    channel.say({ act: 'bound', claim }, handle);
  };

  /** @param {net.Server} server  @param {Listen} wanted  @param {string | null} address  @param {number} family */
  const hold = (server, wanted, address, family) => {
    const { options, backlog } = wanted;
    const port = Number(options.port);
    /** @type {Claim} */
    const claim = { address, port, family, flags: options.ipv6Only ? IPV6_ONLY : 0, index: port === 0 ? (anyPorts += 1) : 0 };
    if (inUse.has(JSON.stringify(claim))) bindAlone(server, claim, backlog);
    else if (isCluster) ask(server, claim, wanted);
    else listenAtOnce(server, claim, wanted);
  };

  /** @this {net.Server}  @param {any[]} args */
  function listen(...args) {
    const read = readArguments(args);
    if (!read || isBusy(this)) {
      this.once('listening', () => announce(this));
      return original.apply(this, /** @type {any} */ (args));
    }
    const wanted = { ...read, calledAt: framesAbove(listen) };
    const callback = args.at(-1);
    if (typeof callback === 'function') this.once('listening', callback);
    closeOnAbort(this, wanted.options.signal);
    const { host } = wanted.options;
    const internals = /** @type {any} */ (this);
    internals._listeningId = (internals._listeningId ?? 0) + 1;
    if (!host) hold(this, wanted, null, 4);
    else lookup(this, host, (address, family) => hold(this, wanted, address, family));
    return this;
  }

  replaceMethod(net.Server.prototype, 'listen', listen);
  return {
    servers: () => servers,
    closeListening() {
      isClosing = true;
      // http.Server.close() would also end idle keep-alive connections, and lose the requests on their way (152 in 12 replacements).
      for (const server of servers) net.Server.prototype.close.call(server);
    },
  };
}

/** @param {net.Server} server  @returns {boolean}  A second listen(), or one while the first is under way: Node has the right error for it. */
function isBusy(server) {
  return server.listening;
}

/**
 * @param {any[]} args
 * @returns {Omit<Listen, 'calledAt'> | null}  null when this is none of our business: a pipe, a handle, `exclusive`, bad arguments that Node will refuse.
 */
function readArguments(args) {
  const [first] = args;
  const backlog = [args[1], args[2]].find((one) => typeof one === 'number');
  if (args.length === 0 || typeof first === 'function' || first === undefined || first === null) return { options: { port: 0 }, backlog };
  if (typeof first === 'object') {
    const { port, path, exclusive, fd, reusePort, _handle, handle } = first;
    if (path !== undefined || exclusive || reusePort || fd !== undefined || _handle || handle || 'fd' in first || !isPort(port)) return null;
    return { options: first, backlog: first.backlog ?? backlog };
  }
  if (!isPort(first)) return null;
  return { options: { port: Number(first), host: typeof args[1] === 'string' ? args[1] : undefined }, backlog };
}

/** @param {unknown} value */
function isPort(value) {
  if (typeof value !== 'number' && (typeof value !== 'string' || value.trim() === '')) return false;
  const port = Number(value);
  return Number.isInteger(port) && port >= 0 && port <= 65535;
}

/** @param {net.Server} server  @param {AbortSignal | undefined} signal */
function closeOnAbort(server, signal) {
  if (!signal) return;
  const abort = () => void server.close();
  if (signal.aborted) return process.nextTick(abort);
  signal.addEventListener('abort', abort, { once: true });
  server.once('close', () => signal.removeEventListener('abort', abort));
}

/** As net.js does it. @param {net.Server} server  @param {string} host  @param {(address: string, family: number) => void} then */
function lookup(server, host, then) {
  const internals = /** @type {any} */ (server);
  const generation = internals._listeningId;
  require('node:dns').lookup(host, (error, address, family) => {
    if (internals._listeningId !== generation) return;
    if (error) server.emit('error', error);
    else then(address, family === 6 ? 6 : 4);
  });
}

/**
 * @param {Claim} claim
 * @returns {any}  A bound handle, or null when the address is taken. SO_REUSEPORT, see daemon/keeper/listeners.js, comes second because it hides conflicts.
 */
function bindHandle(claim) {
  const probe = tryBind(claim, 0);
  if (!probe) return null;
  const { port } = probe.out;
  probe.handle.close();
  return tryBind({ ...claim, port }, REUSE_PORT)?.handle ?? null;
}

/** @param {Claim} claim  @param {number} flags */
function tryBind({ address, port, family, flags: own }, flags) {
  const handle = /** @type {any} */ (net)._createServerHandle(address, port, family, undefined, own | flags);
  if (typeof handle === 'number') return null;
  const out = { port };
  if (handle.getsockname(out) === 0) return { handle, out };
  handle.close();
  return null;
}

/** @param {number} fd */
function openHandle(fd) {
  return /** @type {any} */ (net)._createServerHandle(null, 0, 4, fd);
}

/** @param {Claim} a  @param {Claim} b */
function sameClaim(a, b) {
  return a.address === b.address && a.port === b.port && a.family === b.family && a.flags === b.flags && a.index === b.index;
}

/** @param {Function} own  The innermost frame that is not shown. */
function framesAbove(own) {
  const here = { stack: '' };
  Error.captureStackTrace(here, own);
  return here.stack.split('\n').slice(1).join('\n');
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

module.exports = { holdSockets };
