/** @import { Port } from './link.js' */

/**
 * Keeps a copy of every listening socket the keeper holds. Control never accepts on them: as long
 * as it has them, the sockets outlive the keeper.
 * @typedef {object} ListenerCopies
 * @property {(data: { key: string }, handle: any) => void} keep  Closes the copy it had.
 * @property {(key: string) => void} drop
 * @property {(port: Port) => Promise<void>} handOver  Gives them all to a new keeper; resolves when
 *   it has them, or is gone.
 */

/** @returns {ListenerCopies} */
export function createListenerCopies() {
  /** @type {Map<string, { data: { key: string }, handle: any }>} */
  const kept = new Map();

  /** @param {string} key */
  function drop(key) {
    kept.get(key)?.handle?.close?.();
    kept.delete(key);
  }

  return {
    keep(data, handle) {
      if (!handle) return;
      drop(data.key);
      kept.set(data.key, { data, handle });
    },
    drop,
    async handOver(port) {
      const given = [...kept.values()].map(({ data, handle }, at) =>
        send(port, { v: 1, id: -1 - at, verb: 'inherit', params: data }, handle),
      );
      // Handles that wait for the one before to be acknowledged are dropped without a word when the
      // channel closes.
      const gone = new Promise((resolve) => void port.on('disconnect', () => resolve(undefined)));
      if (port.connected !== false) await Promise.race([Promise.all(given), gone]);
    },
  };
}

/**
 * @param {Port} port
 * @param {object} message
 * @param {unknown} handle
 * @returns {Promise<void>}
 */
function send(port, message, handle) {
  return new Promise((resolve) => {
    // A failure means that this keeper is gone as well, which the link will notice.
    port.send(message, handle, {}, () => resolve());
  });
}
