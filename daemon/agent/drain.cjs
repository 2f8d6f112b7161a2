// Finishes the requests of HTTP servers (plain, TLS, HTTP/2) before the process exits.
//
//   handover  Other workers still serve. Each further response has `Connection: close`, so that the
//             client connects to another worker. An idle connection closes after a pause, because
//             its next request may be on its way and would be reset.
//   finish    No other worker serves. Idle connections close at once.
//
// The app itself ends upgraded connections and plain TCP and TLS connections. But if the app
// handles no signal, the agent sends a close frame to WebSockets, and in a handover half-close.cjs
// ends plain connections between two messages.
'use strict';

const diagnostics = require('node:diagnostics_channel');
const net = require('node:net');
const { clearInterval, clearTimeout, setInterval, setTimeout } = require('node:timers');
const { createHalfClose } = require('./half-close.cjs');
const { nowMono } = require('./isolation.cjs');

/** @import { ServerResponse } from 'node:http' */
/** @import { Socket } from 'node:net' */
/** @import { SocketClaims } from './socket-claims.cjs' */

/**
 * In a handover, an idle connection closes after this time. An active keep-alive client sends its
 * next request sooner.
 */
const IDLE_PAUSE_MS = 1_000;
/**
 * A connection without a request closes after this time. A client sends its first request sooner,
 * unless it connects in advance.
 */
const SILENT_PAUSE_MS = 1_500;
const LOOK_EVERY_MS = 50;
const REQUEST = 'http.server.request.start';
/**
 * Time to wait for the signal. The keeper signals at once, but an overloaded machine may delay the
 * signal.
 */
const SIGNAL_WAIT_MS = 5_000;

/**
 * @typedef
 *   {net.Socket & { server?: net.Server, parser?: unknown, _httpMessage?: ServerResponse | null }}
 *   HttpSocket
 * @typedef {{ destroyed: boolean, close: () => void }} Session  For HTTP/2.
 */

/**
 * @param {SocketClaims} sockets
 * @param {object} o
 * @param {'handover' | 'finish'} o.mode
 * @param {boolean} [o.byMessage]  The app gets the message 'shutdown' instead of a signal.
 * @param {NodeJS.Signals | null} [o.signal]  null: SIGTERM or SIGINT.
 * @param {() => void} [o.onAsked]  Called when a handler of the app gets its signal or the message.
 *   Default: the process does not wait for the signal.
 * @param {() => void} onDrained
 */
function drain(sockets, { mode, byMessage = false, signal = null, onAsked }, onDrained) {
  const events = byMessage ? ['message'] : signal ? [signal] : ['SIGTERM', 'SIGINT'];
  const isHandover = mode === 'handover';
  begin(
    sockets,
    {
      idlePauseMs: isHandover ? IDLE_PAUSE_MS : 0,
      isForGood: true,
      halfClose: isHandover && !isHandled(events) ? createHalfClose() : undefined,
    },
    () => {
      if (onAsked) keepAliveUntilAsked(events, onAsked);
      closeWebSockets(sockets.servers.webSockets, events, onDrained);
    },
  );
}

/**
 * Like drain(), but the process may listen again.
 * @param {SocketClaims} sockets
 * @returns {() => void}  Ends the drain.
 */
function park(sockets) {
  // Keeps the process alive, because without a listening socket the process might exit.
  const stay = setInterval(() => {}, 2 ** 30);
  const end = begin(sockets, { idlePauseMs: IDLE_PAUSE_MS, isForGood: false }, () => {});
  return () => {
    clearInterval(stay);
    end();
  };
}

/**
 * @param {SocketClaims} sockets
 * @param {object} o
 * @param {number} o.idlePauseMs
 * @param {boolean} o.isForGood
 * @param {ReturnType<typeof createHalfClose>} [o.halfClose]  Default: the app ends plain sockets.
 * @param {() => void} onEmpty
 * @returns {() => void}
 */
function begin(sockets, { idlePauseMs, isForGood, halfClose }, onEmpty) {
  const servers = new Set(sockets.servers.all);
  const open = () => [
    ...rawSockets(servers).filter(isHttp),
    ...[...sockets.servers.wrapped].filter(isHttp),
    ...handshakes(servers, sockets.servers.wrapped),
  ];
  const sessions = () => [...sockets.servers.wrapped].filter(isSession);
  const plain = () => (halfClose ? plainSockets(servers, sockets.servers.wrapped) : []);
  const isEmpty = () => open().length + sessions().length + plain().length === 0 && !sockets.balance?.isPassing;
  const onRequest = (/** @type {any} */ { response }) => sayClose(response);
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  let isEnded = false;
  diagnostics.subscribe(REQUEST, onRequest);
  for (const socket of open()) if (socket._httpMessage) sayClose(socket._httpMessage);
  // close() sends GOAWAY, so that open streams finish. look() repeats this, because a session may
  // still be in its handshake.
  const endSessions = () => {
    for (const session of sessions()) if (!session.closed) session.close();
  };
  endSessions();
  sockets.closeListening({ isForGood }, () => {
    if (isEnded) return;
    /** @type {WeakMap<HttpSocket, number>} */
    const idleSince = new WeakMap();
    const look = () => {
      endSessions();
      const atMono = nowMono();
      for (const socket of open()) {
        if (socket._httpMessage) idleSince.delete(socket);
        else if (!idleSince.has(socket)) idleSince.set(socket, atMono);
        if (atMono - (idleSince.get(socket) ?? atMono) >= choosePause(socket, idlePauseMs)) socket.destroySoon();
      }
      halfClose?.(plain());
      if (!isEmpty()) return;
      clearInterval(timer);
      onEmpty();
    };
    // Polls, because that is cheaper than a listener on each connection from its beginning.
    timer = setInterval(look, LOOK_EVERY_MS);
    look();
  });
  return () => {
    isEnded = true;
    clearInterval(timer);
    diagnostics.unsubscribe(REQUEST, onRequest);
  };
}

/**
 * Keeps the process alive until a handler of the app runs, but at most for SIGNAL_WAIT_MS. The
 * servers are closed, so without the timer the process might exit before the signal arrives.
 * @param {string[]} events
 * @param {() => void} onAsked
 */
function keepAliveUntilAsked(events, onAsked) {
  const stay = setTimeout(() => {}, SIGNAL_WAIT_MS);
  for (const event of events)
    if (process.listenerCount(event) > 0)
      process.prependOnceListener(/** @type {NodeJS.Signals} */ (event), () => {
        clearTimeout(stay);
        onAsked();
      });
}

/** @param {string[]} events */
function isHandled(events) {
  return events.some((event) => process.listenerCount(event) > 0);
}

/**
 * @param {HttpSocket} socket
 * @param {number} idlePauseMs
 */
function choosePause(socket, idlePauseMs) {
  if (socket._httpMessage) return Infinity;
  return socket.bytesRead === 0 || !isHttp(socket) ? SILENT_PAUSE_MS : idlePauseMs;
}

/** @param {ServerResponse} response */
function sayClose(response) {
  if (!response.headersSent) response.shouldKeepAlive = false;
}

/** @param {Set<net.Server>} servers */
function rawSockets(servers) {
  // Asks Node.js for the sockets, because a separate list would make every connection more
  // expensive.
  const handles = /** @type {{ _getActiveHandles(): unknown[] }} */ (
    /** @type {unknown} */ (process)
  )._getActiveHandles();
  return handles
    .map((one) => /** @type {HttpSocket} */ (one))
    .filter(
      (one) => one instanceof net.Socket && one.server !== undefined && servers.has(one.server) && !one.destroyed,
    );
}

/**
 * @param {Set<any>} servers
 * @param {Set<any>} wrapped
 */
function handshakes(servers, wrapped) {
  const secured = new Set([...servers].filter((server) => typeof server.setSecureContext === 'function'));
  if (secured.size === 0) return [];
  const done = new Set([...wrapped].map((one) => one._parent));
  return rawSockets(secured).filter((one) => !done.has(one));
}

/**
 * Returns sockets of servers that are not HTTP servers. TLS sockets are included after their
 * handshake.
 * @param {Set<any>} servers
 * @param {Set<any>} wrapped
 */
function plainSockets(servers, wrapped) {
  const plain = new Set(
    [...servers].filter((one) => one.headersTimeout === undefined && typeof one.updateSettings !== 'function'),
  );
  const bare = new Set([...plain].filter((one) => typeof one.setSecureContext !== 'function'));
  const secured = [...wrapped].filter((one) => one instanceof net.Socket && plain.has(/** @type {any} */ (one).server));
  // Skips HTTP sockets, because an app may pass a connection to an HTTP server.
  return [...rawSockets(bare), ...secured].filter((one) => !isHttp(one));
}

/**
 * A socket with a parser is HTTP. Node.js removes the parser from an upgraded connection.
 * @param {HttpSocket} socket
 */
function isHttp(socket) {
  return socket instanceof net.Socket && Boolean(socket.parser) && !socket.destroyed;
}

/** @param {any} one */
function isSession(one) {
  return !(one instanceof net.Socket) && !one.destroyed;
}

/** A close frame with 1001, "going away" (RFC 6455, section 7.4.1). Servers do not mask frames. */
const CLOSE_FRAME = Buffer.from([0x88, 0x02, 0x03, 0xe9]);
const PEER_WAIT_MS = 1_000;

/**
 * @param {Set<Socket>} webSockets
 * @param {string[]} events
 * @param {() => void} then
 */
function closeWebSockets(webSockets, events, then) {
  if (isHandled(events) || webSockets.size === 0) return then();
  let left = webSockets.size;
  const enough = setTimeout(then, PEER_WAIT_MS);
  const one = () => {
    left -= 1;
    if (left > 0) return;
    clearTimeout(enough);
    then();
  };
  for (const socket of webSockets) {
    socket.once('close', one);
    if (socket.writable) socket.end(CLOSE_FRAME);
  }
}

module.exports = { drain, park };
