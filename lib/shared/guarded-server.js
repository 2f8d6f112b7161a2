import { createServer } from 'node:http';
import { answerInTurn } from './answer-in-turn.js';
import { limitConnections } from './limit-connections.js';

/** @import { IncomingMessage, Server, ServerResponse } from 'node:http' */

const REQUEST_MS = 5_000;

/** A client that reads nothing for this long loses its connection, in ms. */
const STALLED_MS = 30_000;

/**
 * Creates an HTTP server that strangers can reach: its connections, and the time and the size of a
 * request, are limited.
 * @param {object} o
 * @param {(request: IncomingMessage, response: ServerResponse) => unknown} o.answer
 * @param {(error: Error) => void} o.onFault  Called with an error of `answer`.
 * @param {(response: ServerResponse) => void} o.refuse  Answers after an error.
 * @param {number} o.connectionsMax
 * @param {number} [o.requestMs]
 * @param {number} [o.stalledMs]
 * @returns {{ server: Server } & ReturnType<typeof limitConnections>}
 */
export function createGuardedServer({
  answer,
  onFault,
  refuse,
  connectionsMax,
  requestMs = REQUEST_MS,
  stalledMs = STALLED_MS,
}) {
  const server = createServer(
    {
      requestTimeout: requestMs,
      headersTimeout: requestMs,
      connectionsCheckingInterval: requestMs,
      maxHeaderSize: 8_192,
    },
    answerInTurn(answer, (error, _request, response) => {
      onFault(error);
      if (response.headersSent) response.destroy();
      else refuse(response);
    }),
  );
  server.timeout = stalledMs;
  // Ignores errors after the server listens, because such an error affects only one new connection.
  server.on('error', () => {});
  return { server, ...limitConnections(server, connectionsMax) };
}

/**
 * @param {Server} server
 * @param {{ host: string, port: number }} address
 * @returns {Promise<void>}  Rejects with errors of the system.
 */
export function listenExclusively(server, { host, port }) {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, resolve);
  });
}

/**
 * @param {Server} server
 * @returns {Promise<void>}
 */
export function closeServer(server) {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
