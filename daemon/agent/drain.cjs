// Finishing what is in flight before the process ends, for HTTP servers (plain, TLS, HTTP/2),
// without any code in the app.
//
//   handover  others serve on: each response from now on says `Connection: close`, and the client's
//             next connection goes to another worker. Idle connections are closed only after a
//             pause, because closing at once is what makes clients see resets.
//   finish    nobody else will serve: idle connections close at once.
//
// Sockets that were upgraded belong to the app: it gets its signal as soon as only those are left.
// So do those of plain TCP and TLS servers, unless others serve on and the app handles no signal:
// then half-close.cjs ends them between two messages.
'use strict';

const diagnostics = require('node:diagnostics_channel');
const net = require('node:net');
// Not those of the app, which may be a DOM's by now, or never fire.
const { clearInterval, clearTimeout, setInterval, setTimeout } = require('node:timers');
const { createHalfClose } = require('./half-close.cjs');
const { nowMono } = require('./isolation.cjs');

/** @import { ServerResponse } from 'node:http' */
/** @import { Socket } from 'node:net' */
/** @import { SocketClaims } from './socket-claims.cjs' */

/** An active keep-alive client sends its next request sooner. */
const IDLE_PAUSE_MS = 1_000;
/**
 * A connection on which nothing has come by then is an idle one of a client that connects in
 * advance.
 */
const SILENT_PAUSE_MS = 1_500;
const LOOK_EVERY_MS = 50;
const REQUEST = 'http.server.request.start';
/** The keeper signals at once; this is for a machine under load. */
const SIGNAL_WAIT_MS = 5_000;

/**
 * @typedef
 *   {net.Socket & { server?: net.Server, parser?: unknown, _httpMessage?: ServerResponse | null }}
 *   HttpSocket
 * @typedef {{ destroyed: boolean, close: () => void }} Session  Of HTTP/2.
 */

/**
 * @param {SocketClaims} sockets
 * @param {object} o
 * @param {'handover' | 'finish'} o.mode
 * @param {boolean} [o.byMessage]  The app gets 'shutdown' in place of its signal.
 * @param {NodeJS.Signals | null} [o.signal]  Which one, where that was set.
 * @param {() => void} o.onAsked  Called when a handler of the app gets its signal or the message.
 * @param {() => void} onDrained
 */
function drain(sockets, { mode, byMessage = false, signal = null, onAsked }, onDrained) {
  const words = byMessage ? ['message'] : signal ? [signal] : ['SIGTERM', 'SIGINT'];
  const isHandover = mode === 'handover';
  begin(
    sockets,
    {
      idlePauseMs: isHandover ? IDLE_PAUSE_MS : 0,
      isForGood: true,
      halfClose: isHandover && !isHandled(words) ? createHalfClose() : undefined,
    },
    () => {
      stayFor(words, onAsked);
      sayFarewell(sockets.servers.webSockets, words, onDrained);
    },
  );
}

/**
 * Out of rotation, but ready to come back: connections are handed over, and the process stays.
 * @param {SocketClaims} sockets
 * @returns {() => void}  Ends it.
 */
function park(sockets) {
  // Without a socket that is listened on, a process may have nothing left to do and would exit.
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
 * @param {ReturnType<typeof createHalfClose>} [o.halfClose]  Default: connections of plain servers
 *   are the app's.
 * @param {() => void} onEmpty
 * @returns {() => void}  Ends it.
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
  // GOAWAY: streams that are open finish, and the session ends with the last of them. One whose
  // handshake was under way comes later.
  const endSessions = () => {
    for (const session of sessions()) if (!session.closed) session.close();
  };
  endSessions();
  sockets.closeListening({ isForGood }, () => {
    if (isEnded) return;
    /**
     * From when on a connection was seen to be idle: an answer that had begun before may end it at
     * any time.
     * @type {WeakMap<HttpSocket, number>}
     */
    const idleSince = new WeakMap();
    const look = () => {
      endSessions();
      const atMono = nowMono();
      for (const socket of open()) {
        if (socket._httpMessage) idleSince.delete(socket);
        else if (!idleSince.has(socket)) idleSince.set(socket, atMono);
        if (atMono - (idleSince.get(socket) ?? atMono) >= pauseFor(socket, idlePauseMs)) socket.destroySoon();
      }
      halfClose?.(plain());
      if (!isEmpty()) return;
      clearInterval(timer);
      onEmpty();
    };
    // Connections end in many ways, upgrades among them; looking at them is cheaper than listening
    // to each from its first day.
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
 * A process whose servers are closed may have nothing left to do and would exit before the signal
 * comes, and the app's handler for it, which may write to a database, would never run.
 * @param {string[]} words
 * @param {() => void} onAsked
 */
function stayFor(words, onAsked) {
  const stay = setTimeout(() => {}, SIGNAL_WAIT_MS);
  for (const word of words)
    if (process.listenerCount(word) > 0)
      process.prependOnceListener(/** @type {NodeJS.Signals} */ (word), () => {
        clearTimeout(stay);
        onAsked();
      });
}

/**
 * An app with a handler for its signal or for the message "shutdown" says goodbye itself.
 * @param {string[]} words
 */
function isHandled(words) {
  return words.some((word) => process.listenerCount(word) > 0);
}

/**
 * @param {HttpSocket} socket
 * @param {number} idlePauseMs
 */
function pauseFor(socket, idlePauseMs) {
  if (socket._httpMessage) return Infinity;
  return socket.bytesRead === 0 || !isHttp(socket) ? SILENT_PAUSE_MS : idlePauseMs;
}

/** @param {ServerResponse} response */
function sayClose(response) {
  if (!response.headersSent) response.shouldKeepAlive = false;
}

/**
 * The TCP connections of these servers.
 * @param {Set<net.Server>} servers
 */
function rawSockets(servers) {
  // Keeping a list would cost every connection of every app; this is asked for once in the life of
  // a process.
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
 * Connections of TLS servers that have not got as far as a request: a client far away needs a while
 * for its handshake.
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
 * The connections of servers that speak neither HTTP/1 nor HTTP/2, those over TLS after their
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
  // An app may give a connection to an HTTP server of its own.
  return [...rawSockets(bare), ...secured].filter((one) => !isHttp(one));
}

/**
 * An upgraded connection has lost its parser.
 * @param {HttpSocket} socket
 */
function isHttp(socket) {
  return socket instanceof net.Socket && Boolean(socket.parser) && !socket.destroyed;
}

/** @param {any} one */
function isSession(one) {
  return !(one instanceof net.Socket) && !one.destroyed;
}

// WebSocket clients of an app that does not care for its own end get a clean close in place of a
// connection that breaks.

/**
 * FIN, opcode close, two bytes: 1001, "going away" (RFC 6455, section 7.4.1). Frames of a server
 * are not masked.
 */
const CLOSE_FRAME = Buffer.from([0x88, 0x02, 0x03, 0xe9]);
const PEER_WAIT_MS = 1_000;

/**
 * @param {Set<Socket>} webSockets
 * @param {string[]} words  What the app will be told to end: signals, or "message".
 * @param {() => void} then  Called when the peers have closed, or have had the time to.
 */
function sayFarewell(webSockets, words, then) {
  if (isHandled(words) || webSockets.size === 0) return then();
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
