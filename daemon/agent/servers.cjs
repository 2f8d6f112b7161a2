'use strict';

/** @import { EventEmitter } from 'node:events' */
/** @import { Socket } from 'node:net' */

class Servers {
  /** @type {Set<any>} */
  all = new Set();
  /** TLS sockets and HTTP/2 sessions. @type {Set<any>} */
  wrapped = new Set();
  /** @type {Set<Socket>} */
  webSockets = new Set();
  /** Upgrades to WebSocket since the process began. */
  upgrades = 0;
  /** @type {(session: any) => void} */
  onSession = () => {};

  get open() {
    let open = 0;
    for (const server of this.all) open += server._connections;
    // The sum can be negative: if another process of the app sends a connection to a server, this
    // server counts only the end of the connection.
    return Math.max(0, open);
  }

  /**
   * Servers that already have the listeners of the agent. A server may listen several times, but
   * must get the listeners only once.
   * @type {WeakSet<any>}
   */
  #watched = new WeakSet();

  /** @param {any} server */
  add(server) {
    this.all.add(server);
    server.once('close', () => this.all.delete(server));
    if (this.#watched.has(server)) return;
    this.#watched.add(server);
    const keep = (/** @type {any} */ one) => remember(this.wrapped, one);
    if (typeof server.setSecureContext === 'function') server.prependListener('secureConnection', keep);
    if (typeof server.updateSettings === 'function')
      server
        .prependListener('session', keep)
        .prependListener('session', (/** @type {any} */ session) => this.onSession(session));
    if (server.headersTimeout !== undefined) this.#watchUpgrades(server);
  }

  /**
   * Listens for 'upgrade' only while the app has a listener too, because Node.js upgrades
   * connections as soon as there is a listener.
   * @param {any} server
   */
  #watchUpgrades(server) {
    const keep = (/** @type {any} */ request, /** @type {Socket} */ socket) => {
      if (request.headers.upgrade?.toLowerCase() !== 'websocket') return;
      this.upgrades += 1;
      remember(this.webSockets, socket);
    };
    const others = () => server.listeners('upgrade').some((/** @type {Function} */ one) => one !== keep);
    const watch = () => {
      if (!others()) return look();
      if (!server.listeners('upgrade').includes(keep)) server.prependListener('upgrade', keep);
      server.on('removeListener', function left(/** @type {string} */ event) {
        if (event !== 'upgrade' || others()) return;
        server.removeListener('removeListener', left);
        server.removeListener('upgrade', keep);
        look();
      });
    };
    const look = () =>
      server.on('newListener', function came(/** @type {string} */ event) {
        if (event !== 'upgrade') return;
        server.removeListener('newListener', came);
        process.nextTick(watch);
      });
    watch();
  }
}

/**
 * @param {Set<any>} set
 * @param {EventEmitter} one
 */
function remember(set, one) {
  set.add(one);
  one.once('close', () => set.delete(one));
}

module.exports.Servers = Servers;
