// Finishing what is in flight before the process ends, for HTTP servers (plain, TLS, HTTP/2), without any code in the app.
//
//   handover  others serve on: each response from now on says `Connection: close`, and the client's next connection goes to another
//             worker. Idle connections are closed only after a pause, because closing at once is what makes clients see resets.
//   finish    nobody else will serve: idle connections close at once.
//
// Sockets that were upgraded, and those of plain TCP servers, belong to the app: it gets its signal as soon as only those are left.
'use strict';

const diagnostics = require('node:diagnostics_channel');
const net = require('node:net');

/** An active keep-alive client sends its next request sooner. */
const IDLE_PAUSE_MS = 1_000;
/** A connection on which nothing has come by then is an idle one of a client that connects in advance. */
const SILENT_PAUSE_MS = 1_500;
const LOOK_EVERY_MS = 50;
/** The keeper signals at once; this is for a machine under load. */
const SIGNAL_WAIT_MS = 5_000;

/**
 * @typedef {net.Socket & { server?: net.Server, parser?: unknown, _httpMessage?: import('node:http').ServerResponse | null }} HttpSocket
 * @typedef {{ destroyed: boolean, close: () => void }} Session  Of HTTP/2.
 */

/**
 * @param {InstanceType<typeof import('./sockets.cjs').HeldSockets>} sockets
 * @param {'handover' | 'finish'} mode
 * @param {() => void} onDrained
 */
function drain(sockets, mode, onDrained) {
  const servers = new Set(sockets.servers);
  const open = () => [...plainSockets(servers), ...[...sockets.wrapped].filter(isHttp)];
  const sessions = () => [...sockets.wrapped].filter(isSession);
  diagnostics.subscribe('http.server.request.start', (/** @type {any} */ { response }) => sayClose(response));
  for (const socket of open()) if (socket._httpMessage) sayClose(socket._httpMessage);
  // GOAWAY: streams that are open finish, and the session ends with the last of them.
  for (const session of sessions()) session.close();
  sockets.closeListening(() => waitUntilEmpty({ open, sessions, idlePauseMs: mode === 'handover' ? IDLE_PAUSE_MS : 0, onDrained }));
}

/**
 * @param {object} o
 * @param {() => HttpSocket[]} o.open
 * @param {() => Session[]} o.sessions
 * @param {number} o.idlePauseMs
 * @param {() => void} o.onDrained
 */
function waitUntilEmpty({ open, sessions, idlePauseMs, onDrained }) {
  const sinceMono = performance.now();
  const look = () => {
    const pastMs = performance.now() - sinceMono;
    const left = open();
    for (const socket of left) if (pastMs >= pauseFor(socket, idlePauseMs)) socket.destroySoon();
    if (left.length + sessions().length > 0) return;
    clearInterval(timer);
    stayForSignal();
    onDrained();
  };
  // Connections end in many ways, upgrades among them; looking at them is cheaper than listening to each from its first day.
  const timer = setInterval(look, LOOK_EVERY_MS);
  look();
}

/**
 * A process whose servers are closed may have nothing left to do and would exit before the signal comes, and the app's handler for
 * it, which may write to a database, would never run.
 */
function stayForSignal() {
  const stay = setTimeout(() => {}, SIGNAL_WAIT_MS);
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT'])) if (process.listenerCount(signal) > 0) process.prependOnceListener(signal, () => clearTimeout(stay));
}

/** @param {HttpSocket} socket  @param {number} idlePauseMs */
function pauseFor(socket, idlePauseMs) {
  if (socket._httpMessage) return Infinity;
  return socket.bytesRead === 0 ? SILENT_PAUSE_MS : idlePauseMs;
}

/** @param {import('node:http').ServerResponse} response */
function sayClose(response) {
  if (!response.headersSent) response.shouldKeepAlive = false;
}

/**
 * The connections of these servers that speak HTTP without TLS.
 * @param {Set<net.Server>} servers
 * @returns {HttpSocket[]}
 */
function plainSockets(servers) {
  // Keeping a list would cost every connection of every app; this is asked for once in the life of a process.
  const handles = /** @type {{ _getActiveHandles(): unknown[] }} */ (/** @type {unknown} */ (process))._getActiveHandles();
  return handles.map((one) => /** @type {HttpSocket} */ (one)).filter((one) => one instanceof net.Socket && one.server !== undefined && servers.has(one.server) && isHttp(one));
}

/** An upgraded connection has lost its parser. @param {HttpSocket} socket */
function isHttp(socket) {
  return socket instanceof net.Socket && Boolean(socket.parser) && !socket.destroyed;
}

/** @param {any} one */
function isSession(one) {
  return !(one instanceof net.Socket) && !one.destroyed;
}

module.exports = { drain };
