import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** @import { Socket } from 'node:net' */

/**
 * The server's end, because a client that does not read does not notice a closed connection.
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
