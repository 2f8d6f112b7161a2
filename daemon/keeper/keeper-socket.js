// Two kinds of clients connect to the lock (lock.js): commands that wait for control or watch the
// keeper, and agents that have lost their IPC channel to a keeper.
import { createLineReader } from '../../lib/shared/daemon/lines.js';
import { PROTOCOL } from './protocol.js';

/** @import { Socket } from 'node:net' */
/** @import { Installation } from './control-supervisor.js' */
/** @import { HomeClaim } from './lock.js' */

/**
 * @typedef {object} OrphanLine
 * @property {string} instanceId
 * @property {(message: object) => boolean} send
 *
 * @typedef {object} KeeperSocketEvents
 * @property {(line: OrphanLine) => void} onOrphan
 * @property {(instanceId: string, message: Record<string, unknown>) => void} onOrphanMessage
 * @property {(instanceId: string) => void} onOrphanGone  The connection has closed. The
 *   process has most likely exited.
 */

/**
 * @param {object} o
 * @param {Pick<HomeClaim, 'onVisitor'>} o.claim
 * @param {string} o.version
 * @param {() => void} o.onVisit  A client comes here if the socket of control does not answer.
 * @param {(offer: Installation) => void} o.onOffer
 * @param {KeeperSocketEvents} o.events
 */
export function openKeeperSocket({
  claim,
  version,
  onVisit,
  onOffer,
  events: { onOrphan, onOrphanMessage, onOrphanGone },
}) {
  /** @type {Set<Socket>} */
  const visitors = new Set();
  /** @type {object | null} */
  let news = null;
  /** @type {string | null} */
  let failure = null;

  /** @param {Socket} socket */
  const welcome = (socket) => {
    visitors.add(socket);
    /** @type {string | null} */
    let instanceId = null;
    socket.on('close', () => {
      visitors.delete(socket);
      if (instanceId !== null) onOrphanGone(instanceId);
    });
    socket.on('error', () => socket.destroy());
    readMessages(socket, (message) => {
      if (instanceId !== null) return onOrphanMessage(instanceId, message);
      if (typeof message.node === 'string' && typeof message.root === 'string')
        return onOffer({ node: message.node, root: message.root });
      if (typeof message.orphan !== 'string') return void socket.destroy();
      instanceId = message.orphan;
      onOrphan({ instanceId, send: (answer) => socket.writable && (say(socket, answer), true) });
    });
    say(socket, { v: 1, keeper: { pid: process.pid, version, protocol: PROTOCOL } });
    if (news) say(socket, news);
    onVisit();
  };
  claim.onVisitor(welcome);

  /**
   * Sends the message to all clients, and to each client that connects later.
   * @param {{ event: 'control-ready', pid: number } | { event: 'control-failed', message: string }
   *   | { event: 'control-missing', path: string }} latest
   */
  const announce = (latest) => {
    news = { v: 1, ...latest };
    for (const socket of visitors) say(socket, news);
  };

  return {
    /** @param {number} pid */
    onControlReady(pid) {
      failure = null;
      announce({ event: 'control-ready', pid });
    },
    /** @param {string} path  A command answers with its own Node.js and package. */
    onControlMissing(path) {
      announce({ event: 'control-missing', path });
    },
    /** @param {string | null} message */
    onControlFatal(message) {
      failure = message;
    },
    onControlEnded() {
      news = null;
      if (failure !== null) announce({ event: 'control-failed', message: failure });
    },
  };
}

/**
 * @param {Socket} socket
 * @param {object} message
 */
function say(socket, message) {
  socket.write(JSON.stringify(message) + '\n');
}

const LINE_MAX_BYTES = 64 * 1024;

/**
 * A line that is too long, or not JSON, closes the connection.
 * @param {Socket} socket
 * @param {(message: Record<string, unknown>) => void} onMessage
 */
function readMessages(socket, onMessage) {
  const onLine = (/** @type {string} */ line) => {
    const message = parse(line);
    if (message === null) socket.destroy();
    else if (!socket.destroyed) onMessage(message);
  };
  socket.on('data', createLineReader({ maxBytes: LINE_MAX_BYTES, onLine, onTooLong: () => socket.destroy() }));
}

/**
 * @param {string} line
 * @returns {Record<string, unknown> | null}
 */
function parse(line) {
  try {
    const value = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
