import { mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { listenPrivately } from '../../../lib/shared/daemon/listen-privately.js';
import { serveConnection } from './connection.js';

/** @import { Server, Socket } from 'node:net' */
/** @import { ManagerLog } from '../context.js' */
/** @import { Clock } from '../host/clock.js' */
/** @import { Answer } from './connection.js' */

/** Limit of clients, because each client may hold one line and one queue in memory. */
const CLIENTS_MAX = 500;

export class ApiServer {
  /** @type {Server | null} */
  #server = null;
  #onClient;
  #managerLog;
  /** @type {Map<Socket, { close: () => Promise<void> }>} */
  #clients = new Map();
  /** @type {{ sock: string, inode: number } | null} */
  #bound = null;
  /** @type {Promise<void> | null} */
  #closed = null;

  /** @param {{ answer: Answer, clock: Clock, managerLog: ManagerLog }} o */
  constructor({ answer, clock, managerLog }) {
    this.#managerLog = managerLog;
    this.#onClient = (/** @type {Socket} */ socket) => {
      this.#clients.set(socket, serveConnection(socket, { answer, clock }));
      socket.once('close', () => this.#clients.delete(socket));
    };
  }

  /**
   * Binds a temporary name and renames it. libuv removes the name that it bound, so a control that
   * closes late cannot remove the socket of its successor. If called again, replaces a socket that
   * was removed.
   * @param {object} o
   * @param {string} o.sock
   * @param {string} o.run  A folder on the same file system.
   * @returns {Promise<void>}
   */
  async listen({ sock, run }) {
    const own = join(run, `c-${process.pid}.sock`);
    if (!statSync(run, { throwIfNoEntry: false })) mkdirSync(run, { mode: 0o700 });
    rmSync(own, { force: true });
    const server = createServer(this.#onClient);
    server.maxConnections = CLIENTS_MAX;
    server.on('error', (error) => this.#managerLog('socket-error', { message: error.message }));
    await listenPrivately(server, own);
    this.#bound = { sock, inode: statSync(own).ino };
    renameSync(own, sock);
    this.#server?.close(); // Its clients stay.
    this.#server = server;
  }

  /** @returns {boolean}  true if another program has removed the socket. */
  isMissing() {
    return this.#bound !== null && this.#closed === null && !statSync(this.#bound.sock, { throwIfNoEntry: false });
  }

  /** Accepts no more clients, and resolves after requests in progress are answered. Idempotent. */
  close() {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close() {
    const server = this.#server;
    const closed = new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
    await closed;
    // Does not remove the socket if a successor has put its own socket there.
    if (this.#bound && statSync(this.#bound.sock, { throwIfNoEntry: false })?.ino === this.#bound.inode)
      rmSync(this.#bound.sock, { force: true });
  }
}
