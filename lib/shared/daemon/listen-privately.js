/** @import { Server } from 'node:net' */

/**
 * Listens on a Unix socket to which only its owner can connect. Does not use chmod(2), because
 * another program could put another file in place of the socket first.
 * @param {Server} server
 * @param {string} path
 * @returns {Promise<void>}
 */
export function listenPrivately(server, path) {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    const onListening = () => {
      server.off('error', reject);
      resolve();
    };
    const mask = process.umask(0o177);
    try {
      // listen() binds before it returns. A process that starts later must not get this mask.
      server.listen(path, onListening);
    } finally {
      process.umask(mask);
    }
  });
}
