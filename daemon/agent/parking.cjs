'use strict';

const { setInterval, clearInterval } = require('node:timers');
const { bindOwn } = require('./bind.cjs');
const { createIsolation, nowMono } = require('./isolation.cjs');

/** @import { Channel } from './channel.cjs' */
/** @import { Use } from './socket-claims.cjs' */
/** @import { OnHandle, OnRefused, Refusal, SocketSource } from './socket-source.cjs' */

/**
 * Closes the handles, not the servers. Each server keeps its closed handle, so that the app can
 * still call close(). http.Server.close() would also end idle keep-alive connections, which lost
 * 152 requests in 12 replacements.
 * @param {Iterable<any>} servers
 * @param {Iterable<Use>} ending  These servers will not listen again.
 */
function closeHandles(servers, ending) {
  for (const server of servers) if (server._handle) closeWithName(server._handle);
  // If the app uses node:cluster, node:cluster has taken the handle from the server. A parked
  // process leaves this handle open, so the workers of the app still serve.
  for (const { server, handle } of ending) if (server._handle === null) handle?.close();
}

/** @param {any} handle */
function closeWithName(handle) {
  const name = {};
  if (handle.getsockname?.(name) === 0)
    handle.getsockname = (/** @type {object} */ out) => (Object.assign(out, name), 0);
  handle.close();
}

/** A turn of the event loop that worked for less time has served no request. */
const QUIET_MS = 0.15;
/** A process that is never quiet closes its socket after this number of checks, 1 ms apart. */
const QUIET_LOOKS = 200;

/**
 * Waits until the queue of a socket is probably empty, because closing the last copy of the socket
 * resets the connections in the queue. With this wait, one takeover in 130 resets a request;
 * without the wait, one takeover in seven does.
 * @param {() => void} then
 * @param {number} [quietMs]  How long the process must have been quiet.
 */
function callWhenQuiet(then, quietMs = 1) {
  const { performance } = require('node:perf_hooks');
  const { setTimeout } = require('node:timers');
  const isolate = createIsolation(then);
  const look = isolate((/** @type {number} */ looksLeft, /** @type {number} */ quietLeft) => {
    const { idleTime } = performance.nodeTiming;
    const sinceMono = nowMono();
    setTimeout(
      isolate(() => {
        const busyMs = nowMono() - sinceMono - (performance.nodeTiming.idleTime - idleTime);
        const left = busyMs < QUIET_MS ? quietLeft - 1 : quietMs;
        if (left === 0 || looksLeft === 0) then();
        else look(looksLeft - 1, left);
      }),
      1,
    );
  });
  look(QUIET_LOOKS, quietMs);
}

/**
 * @param {Use[]} uses  Servers with a closed handle listen again.
 * @param {SocketSource} source
 * @param {(refusal: Refusal | null) => void} then  Called with null when all servers listen. Else
 *   called once for each refusal.
 */
function listenAgain(uses, source, then) {
  const closed = uses.filter(({ server }) => server._handle !== null);
  let left = closed.length;
  if (left === 0) then(null);
  for (const use of closed) {
    const again = (/** @type {any} */ handle) => {
      replaceHandle(use, handle);
      left -= 1;
      if (left === 0) then(null);
    };
    if (use.ownPort === undefined) source.askKeeper(use, again, then);
    else rebind(use, use.ownPort, again, then);
  }
}

/**
 * @param {Use} use
 * @param {number} port
 * @param {OnHandle} onHandle
 * @param {OnRefused} onRefused
 */
function rebind({ claim, call }, port, onHandle, onRefused) {
  const bound = bindOwn({ ...claim, port }, call.options);
  if (bound) onHandle(bound.handle);
  else onRefused({ code: 'EADDRINUSE', message: `port ${port} was taken by another process` });
}

/**
 * Gives a server another handle, for example because the socket has lost its path.
 * @param {Use} use
 * @param {any} handle
 */
function moveServer(use, handle) {
  const lost = use.server._handle ?? use.handle;
  const close = lost.close.bind(lost);
  if (use.server._handle) replaceHandle(use, handle);
  else replaceTaken(use, handle);
  // Waits, because the server still has to answer the clients in the old queue.
  callWhenQuiet(close);
}

/** Longer than in a takeover, because the app may send requests to itself when it listens. */
const HAND_OVER_QUIET_MS = 5;

/**
 * Ends the own socket of a server, so that the keeper can bind its address.
 * @param {Use} use
 * @param {Channel} channel
 * @param {(boundPort: number) => void} then  Not called if the app closes the server or the channel
 *   first.
 */
function handOver({ handle, claim }, channel, then) {
  // The keeper takes over a path while this process still accepts.
  if (claim.family === 0) return then(0);
  // Accepts the clients in the queue first.
  callWhenQuiet(() => {
    const name = { port: 0 };
    if (!channel.isOpen() || !(handle.fd >= 0) || handle.getsockname(name) !== 0) return;
    closeWithName(handle);
    then(name.port);
  }, HAND_OVER_QUIET_MS);
}

/** The backlog of lib/net.js. */
const DEFAULT_BACKLOG = 511;

/**
 * @param {Use} use
 * @param {any} handle
 */
function replaceHandle({ server, call }, handle) {
  const old = server._handle;
  const owner = Object.getOwnPropertySymbols(old).find((symbol) => old[symbol] === server);
  if (owner) handle[owner] = server;
  handle.onconnection = old.onconnection;
  handle.accept = old.accept;
  server._handle = handle;
  if (server._unref) handle.unref();
  handle.listen(call.backlog ?? DEFAULT_BACKLOG);
}

/**
 * The app uses node:cluster, which has taken the handle from the server. So the old handle stays,
 * and stands for the new one.
 * @param {Use} use
 * @param {any} handle
 */
function replaceTaken({ handle: old, call }, handle) {
  handle.onconnection = old.onconnection;
  handle.listen(call.backlog ?? DEFAULT_BACKLOG);
  const close = old.close.bind(old);
  old.close = () => {
    handle.close();
    close();
  };
}

/**
 * @typedef {object} Gate
 * @property {(handle: any) => void} shut  Called before the handle listens.
 * @property {() => void} open  Idempotent.
 */

/**
 * The app sees the servers behind the gate as listening, but they accept no connection.
 * @returns {Gate}
 */
function createGate() {
  /** @type {(() => void)[]} */
  let waiting = [];
  /** @type {NodeJS.Timeout | undefined} */
  let stay;
  return {
    shut(handle) {
      stay ??= setInterval(() => {}, 2 ** 30);
      let backlog = 0;
      handle.listen = (/** @type {number} */ given) => {
        backlog = given;
        return 0;
      };
      waiting.push(() => {
        delete handle.listen;
        // Skips a handle that the app has closed or given to its node:cluster.
        if (handle.fd >= 0) handle.listen(backlog);
      });
    },
    open() {
      for (const begin of waiting) begin();
      waiting = [];
      clearInterval(stay);
      stay = undefined;
    },
  };
}

module.exports = { createGate, closeHandles, callWhenQuiet, handOver, listenAgain, moveServer };
