// Patches net.Server.prototype.listen, so that each server claims its socket (socket-claims.cjs).
'use strict';

const net = require('node:net');
const path = require('node:path');
const { setImmediate } = require('node:timers');
const { readBacklog, readKind, readPort } = require('./listen-args.cjs');
const { refuseOwnPort } = require('./own-port.cjs');
const { Servers } = require('./servers.cjs');
const { SocketClaims } = require('./socket-claims.cjs');

/** @import { Claim } from './bind.cjs' */
/** @import { Channel } from './channel.cjs' */
/** @import { Settings } from './socket-claims.cjs' */

/**
 * @typedef {object} ListenCall
 * @property {any} options
 * @property {number} port
 * @property {number | undefined} backlog
 * @property {() => string} calledAt  Stack frames of the call, for an error that comes later.
 */

/**
 * @typedef {object} NodeListen  Both functions report the server when it listens.
 * @property {(server: any, ...args: any[]) => net.Server} listen
 * @property {(server: any, handle: any, claim: Claim, call: ListenCall) => void} listenOn
 */

/**
 * @param {Channel} channel
 * @param {Settings} settings
 */
function patchListen(channel, settings) {
  const servers = new Servers();
  const original = net.Server.prototype.listen;
  const replaceHandle = (/** @type {any} */ server, /** @type {() => void} */ then) =>
    claims.replaceHandle(server, then);
  const node = createNodeListen(original, createAnnouncer(channel, servers, replaceHandle));
  const claims = new SocketClaims(channel, servers, node, settings);
  /**
   * @this {net.Server}
   * @param {any[]} args
   */
  function listen(...args) {
    if (this.listening) return original.apply(this, /** @type {any} */ (args));
    const [options, callback] = /** @type {any} */ (net)._normalizeArgs(args);
    const kind = readKind(args, options);
    if (kind === null) return node.listen(this, ...args);
    checkPermission();
    if (callback !== null) this.once('listening', callback);
    const call = {
      options,
      port: kind === 'tcp' ? readPort(args, options) : 0,
      backlog: readBacklog(args, options),
      calledAt: framesAbove(listen),
    };
    closeOnAbort(this, options.signal);
    if (kind === 'tcp') claimPort(claims, this, call);
    else claimPath(claims, this, call);
    return this;
  }
  replaceMethod(net.Server.prototype, 'listen', listen);
  return claims;
}

/**
 * Throws if the permission model forbids the network, because the keeper would bind nevertheless.
 */
function checkPermission() {
  const { permission } = /** @type {{ permission?: { has(scope: string): boolean } }} */ (process);
  // Tries to bind, so that Node.js throws. Before Node.js 25, has() is always false and the bind
  // succeeds.
  if (permission && !permission.has('net')) /** @type {any} */ (net)._createServerHandle('127.0.0.1', 0, 4)?.close?.();
}

/**
 * @param {SocketClaims} claims
 * @param {any} server
 * @param {ListenCall} call
 */
function claimPort(claims, server, call) {
  const { host } = call.options;
  const listeningId = raiseListeningId(server);
  if (!host) return claims.claim(server, call, null, 4);
  require('node:dns').lookup(host, (error, address, family) => {
    if (server._listeningId !== listeningId) return;
    if (error) server.emit('error', error);
    else claims.claim(server, call, address, family === 6 ? 6 : 4);
  });
}

/**
 * @param {SocketClaims} claims
 * @param {any} server
 * @param {ListenCall} call
 */
function claimPath(claims, server, call) {
  raiseListeningId(server);
  server._pipeName = call.options.path;
  claims.claim(server, call, path.resolve(call.options.path), 0);
}

/**
 * Raises the id of the listen() call, as lib/net.js does. close() raises the id too, so that
 * Node.js and the agent ignore the result of an earlier listen().
 * @param {any} server
 * @returns {number}
 */
function raiseListeningId(server) {
  server._listeningId = (server._listeningId ?? 0) + 1;
  return server._listeningId;
}

/**
 * @param {Function} original
 * @param {(server: any) => void} announceOnce
 * @returns {NodeListen}
 */
function createNodeListen(original, announceOnce) {
  /** @type {NodeListen['listen']} */
  const listen = (server, ...args) => {
    announceOnce(server);
    return original.apply(server, args);
  };
  return {
    listen,
    listenOn(server, handle, { address, family }, { backlog, options }) {
      if (family !== 0) return void listen(server, handle, backlog);
      // listen() accepts only TCP handles (lib/net.js), so this does the same without listen().
      announceOnce(server);
      server._handle = handle;
      if (options.readableAll || options.writableAll) openToAll(server, address, options);
      server._listen2(address, -1, -1, backlog);
    },
  };
}

/**
 * Uses chmodSync(), because uv_pipe_chmod() knows only the private name of the socket.
 * @param {any} server
 * @param {string | null} address
 * @param {{ readableAll?: boolean, writableAll?: boolean }} options
 */
function openToAll(server, address, { readableAll, writableAll }) {
  const { chmodSync, statSync } = require('node:fs');
  try {
    const { mode } = statSync(address ?? '');
    chmodSync(address ?? '', mode | (readableAll === true ? 0o444 : 0) | (writableAll === true ? 0o222 : 0));
  } catch (error) {
    // Another user bound the socket, or the app has removed the path.
    process.nextTick(() => server.emit('error', error));
  }
}

/**
 * @param {Channel} channel
 * @param {Servers} servers
 * @param {SocketClaims['replaceHandle']} replaceHandle
 * @returns {(server: any) => void}  Reports the server once, even after several attempts to listen.
 */
function createAnnouncer(channel, servers, replaceHandle) {
  /** @type {WeakMap<any, () => void>} */
  const announcers = new WeakMap();
  const endRefusing = refuseOwnPort(channel);
  const announce = (/** @type {any} */ server) => {
    servers.add(server);
    const { _handle: handle } = server;
    const address = server.address();
    const say = () => {
      endRefusing();
      if (typeof address === 'string') channel.say({ act: 'listening', address, port: 0, family: 'pipe' });
      else if (address)
        channel.say({ act: 'listening', address: address.address, port: address.port, family: address.family });
    };
    // Reports in the next turn, because a program that only checks a port closes its server at
    // once.
    setImmediate(() => {
      if (!isClosed(handle) && !replaceHandle(server, say)) say();
    });
  };
  return (server) => {
    const onListening = announcers.get(server) ?? (() => announce(server));
    announcers.set(server, onListening);
    server.removeListener('listening', onListening).once('listening', onListening);
  };
}

/**
 * @param {any} handle  A closed handle has an fd below 0, or undefined since Node.js 22. A handle
 * without an fd is not from libuv.
 */
function isClosed(handle) {
  return Boolean(handle) && 'fd' in handle && !(handle.fd >= 0);
}

/**
 * @param {any} server
 * @param {AbortSignal | undefined} signal
 */
function closeOnAbort(server, signal) {
  if (!signal) return;
  const abort = () => void server.close();
  if (signal.aborted) return process.nextTick(abort);
  signal.addEventListener('abort', abort, { once: true });
  server.once('close', () => signal.removeEventListener('abort', abort));
}

/**
 * Formats the stack on demand, because formatting takes 25 KB of memory.
 * @param {Function} own
 * @returns {() => string}
 */
function framesAbove(own) {
  const here = { stack: '' };
  Error.captureStackTrace(here, own);
  return () => {
    try {
      return here.stack.split('\n').slice(1).join('\n');
    } catch {
      // Error.prepareStackTrace of the app does not return a string, or throws.
      return '';
    }
  };
}

/**
 * @param {any} owner
 * @param {string} name
 * @param {Function} replacement
 */
function replaceMethod(owner, name, replacement) {
  const { length, name: shown } = owner[name];
  Object.defineProperties(replacement, {
    name: { value: shown, configurable: true },
    length: { value: length, configurable: true },
  });
  owner[name] = replacement;
}

module.exports = { patchListen };
