import { closeShared } from '../../../lib/shared/daemon/close-shared.js';

/** @import { Port } from './link.js' */

/**
 * Control keeps a copy of each listening socket, so that the sockets outlive the keeper. Control
 * never accepts connections on a copy.
 * @typedef {{ data: { key: string, owner?: object | null }, handle: any }} Copy
 * @typedef {object} ListenerCopies
 * @property {(data: Copy['data'], handle: any) => void} keep  Closes an earlier copy.
 * @property {(key: string) => void} drop
 * @property {(port: Port) => Promise<void>} handOver  Resolves when the keeper has the copies or is
 *   gone.
 */

/** @returns {ListenerCopies} */
export function createListenerCopies() {
  /** @type {Map<string, Copy>} */
  const kept = new Map();

  return {
    keep(data, handle) {
      if (!handle) return;
      const before = kept.get(data.key);
      kept.set(data.key, { data, handle });
      if (before) close(before);
    },
    drop(key) {
      const copy = kept.get(key);
      kept.delete(key);
      if (copy) close(copy);
    },
    async handOver(port) {
      const given = [...kept.values()].map(({ data, handle }, at) =>
        send(port, { v: 1, id: -1 - at, verb: 'inherit', params: data }, handle),
      );
      // Also waits for 'disconnect', because Node.js silently drops handles that wait for an
      // acknowledgement when the channel closes.
      const gone = new Promise((resolve) => void port.on('disconnect', () => resolve(undefined)));
      if (port.connected !== false) await Promise.race([Promise.all(given), gone]);
    },
  };
}

/** @param {Copy} copy */
function close({ data, handle }) {
  if (data.owner) closeShared(handle);
  else handle.close?.();
}

/**
 * @param {Port} port
 * @param {object} message
 * @param {unknown} handle
 * @returns {Promise<void>}
 */
function send(port, message, handle) {
  return new Promise((resolve) => {
    // Ignores an error of send(): the keeper is gone, and the link notices that.
    port.send(message, handle, {}, () => resolve());
  });
}
