'use strict';

const { setInterval, clearInterval } = require('node:timers');
const { bindOwn } = require('./bind.cjs');
const { createIsolation, nowMono } = require('./isolation.cjs');

/** @import { Use } from './socket-claims.cjs' */
/** @import { OnHandle, OnRefused, Refusal, SocketSource } from './socket-source.cjs' */

/**
 * The server keeps its closed handle, so that close() of the app still works. http.Server.close()
 * would also end idle keep-alive connections: in 12 replacements 152 requests were lost.
 * @param {Iterable<any>} servers
 * @param {Iterable<Use>} ending  Will not listen again.
 */
function closeHandles(servers, ending) {
  for (const server of servers) if (server._handle) closeWithName(server._handle);
  // A node:cluster of the app has taken the handle from its server. When parked, it serves on.
  for (const { server, handle } of ending) if (server._handle === null) handle?.close();
}

/** @param {any} handle */
function closeWithName(handle) {
  const name = {};
  if (handle.getsockname?.(name) === 0)
    handle.getsockname = (/** @type {object} */ out) => (Object.assign(out, name), 0);
  handle.close();
}

/** A turn of the event loop with less work has served no request. */
const QUIET_MS = 0.15;
/** Turns of 1 ms after which a process that is never quiet closes its socket. */
const QUIET_LOOKS = 200;

/**
 * Closing the last copy of a socket resets the connections in its queue. With this wait, one
 * takeover in 130 resets a request. Without it, every seventh did.
 * @param {() => void} then
 */
function onceQuiet(then) {
  const { performance } = require('node:perf_hooks');
  const { setTimeout } = require('node:timers');
  const isolate = createIsolation(then);
  const look = isolate((/** @type {number} */ looksLeft) => {
    const { idleTime } = performance.nodeTiming;
    const sinceMono = nowMono();
    setTimeout(
      isolate(() => {
        const busyMs = nowMono() - sinceMono - (performance.nodeTiming.idleTime - idleTime);
        if (busyMs < QUIET_MS || looksLeft === 0) then();
        else look(looksLeft - 1);
      }),
      1,
    );
  });
  look(QUIET_LOOKS);
}

/**
 * @param {Use[]} uses  Those with a closed handle listen again.
 * @param {SocketSource} source
 * @param {(refusal: Refusal | null) => void} then  null: all listen. Else a refusal, maybe several.
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
 * For a server whose socket has lost its path.
 * @param {Use} use
 * @param {any} handle
 */
function moveTo(use, handle) {
  const lost = use.server._handle;
  replaceHandle(use, handle);
  // The server still has to answer the clients in the old queue.
  onceQuiet(() => lost.close());
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
        // The app may have closed the handle, or given it to its node:cluster.
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

module.exports = { createGate, closeHandles, onceQuiet, listenAgain, moveTo };
