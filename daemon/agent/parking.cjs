// Takes the sockets of this process out of use while its servers stay as they are for the app: when
// it is parked and when it ends, and before it is let in. Gives servers other sockets.
'use strict';

const { setInterval, clearInterval } = require('node:timers');
const { bindOwn } = require('./bind.cjs');
const { createGuard, nowMono } = require('./isolation.cjs');

/** @import { Use } from './socket-claims.cjs' */
/** @import { OnHandle, OnRefused, Refusal, SocketSource } from './socket-source.cjs' */

/**
 * Closes the listening handles; open connections stay. The server object keeps its closed handle,
 * so that the app's own close() works as ever: with a callback that gets no error, and 'close' when
 * the last connection has ended. (http.Server.close() here would also end idle keep-alive
 * connections and lose the requests on their way: 152 in 12 replacements.)
 * @param {Iterable<any>} servers
 * @param {Iterable<Use>} ending  Uses that will not be taken back.
 */
function closeHandles(servers, ending) {
  for (const server of servers) if (server._handle) closeWithName(server._handle);
  // The primary of the app's own node:cluster has taken the handle from its server. A parked one
  // goes on serving.
  for (const { server, handle } of ending) if (server._handle === null) handle?.close();
}

/**
 * The app may go on asking where it listens.
 * @param {any} handle
 */
function closeWithName(handle) {
  const name = {};
  if (handle.getsockname?.(name) === 0)
    handle.getsockname = (/** @type {object} */ out) => (Object.assign(out, name), 0);
  handle.close();
}

/** A turn of the loop with less work than this has answered no request. */
const QUIET_MS = 0.15;
/** A process that is never quiet closes after this many milliseconds. */
const QUIET_LOOKS = 200;

/**
 * The keeper is dead and ours may be the last copy of a socket: the kernel resets what waits in its
 * queue when that is closed. So it is closed right after a poll that found nothing to do. Closed
 * anywhere in a turn of the loop, 1 or 2 of 700 requests were reset in every seventh takeover; so
 * it is one in 130.
 * @param {() => void} then
 */
function whenQuiet(then) {
  // Not those of the app, which may have replaced them by now.
  const { performance } = require('node:perf_hooks');
  const { setTimeout } = require('node:timers');
  const guard = createGuard(then);
  const look = guard((/** @type {number} */ looksLeft) => {
    const { idleTime } = performance.nodeTiming;
    const sinceMono = nowMono();
    setTimeout(
      guard(() => {
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
 * @param {Use[]} uses  Those whose handle is closed listen again.
 * @param {SocketSource} source
 * @param {(refusal: Refusal | null) => void} then  Called when all of them listen, and for each
 *   that is refused.
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
  else onRefused({ code: 'EADDRINUSE', message: `port ${port} was taken meanwhile` });
}

/**
 * The socket of a server has lost its path, and this one has it.
 * @param {Use} use
 * @param {any} handle
 */
function moveTo(use, handle) {
  const lost = use.server._handle;
  replaceHandle(use, handle);
  // Clients in its queue get an answer.
  whenQuiet(() => lost.close());
}

/** The backlog of lib/net.js. */
const DEFAULT_BACKLOG = 511;

/**
 * Gives a server another handle in place of the one that it has.
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
 * @property {(handle: any) => void} shut  Before it is listened on.
 * @property {() => void} open  Begins to poll. Idempotent.
 */

/**
 * Keeps listening sockets from being polled: for the app they listen, and connections come to
 * others.
 * @returns {Gate}
 */
function createGate() {
  /** @type {(() => void)[]} */
  let waiting = [];
  /**
   * Without a socket that is polled the process may have nothing to do, and would exit.
   * @type {NodeJS.Timeout | undefined}
   */
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
        // The app may have closed it. Its server may not have it any more: the primary of the app's
        // own node:cluster takes it from there.
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

module.exports = { createGate, closeHandles, whenQuiet, listenAgain, moveTo };
