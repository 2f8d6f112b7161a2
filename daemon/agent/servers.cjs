// The servers of this process that listen, and those of their connections that cannot be found from
// their descriptors.
'use strict';

/** @import { EventEmitter } from 'node:events' */
/** @import { Socket } from 'node:net' */

class Servers {
  /** @type {Set<any>} */
  all = new Set();
  /** TLS sockets and HTTP/2 sessions. @type {Set<any>} */
  wrapped = new Set();
  /** Connections that were upgraded to WebSocket. @type {Set<Socket>} */
  webSockets = new Set();
  /** Such upgrades, ever. */
  upgrades = 0;
  /** Told of each session of HTTP/2. @type {(session: any) => void} */
  onSession = () => {};

  /** Connections that are open. */
  get open() {
    let open = 0;
    for (const server of this.all) open += server._connections;
    // A server counts a connection down that it never counted up, if another process of the app
    // sent it (child.send(socket)).
    return Math.max(0, open);
  }

  /**
   * Those whose connections are watched: a server may listen and close many times.
   * @type {WeakSet<any>}
   */
  #watched = new WeakSet();

  /** @param {any} server  It listens. */
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
   * A listener of ours alone would make Node believe that the app upgrades connections.
   * @param {any} server  Of HTTP/1.
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
