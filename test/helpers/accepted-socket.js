import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** @import { Socket } from 'node:net' */

/**
 * Returns the server's end of the next connection to an HTTP server of this process, because a
 * client that does not read cannot notice that its connection is gone.
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
