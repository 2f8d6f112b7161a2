import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** @import { Socket } from 'node:net' */

/**
 * The server's end of the connection that sends the next request to an HTTP server of this process.
 * A client that does not read never learns that its connection is gone, so a test looks here.
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
