import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** @import { Socket } from 'node:net' */

/**
 * Resolves with the server's end of a connection, because a client that does not read does not
 * notice that the connection was closed.
 * @param {number} port
 * @returns {Promise<Socket>}
 */
export function nextAccepted(port) {
  return new Promise((resolve) => {
    const take = (/** @type {any} */ { socket }) => {
      if (socket.localPort !== port) return;
      unsubscribe('http.server.request.start', take);
      resolve(socket);
    };
    subscribe('http.server.request.start', take);
  });
}
