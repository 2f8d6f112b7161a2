import { connect } from 'node:net';
import { onceOnly, reasonOf } from './transports.js';

/** @import { ShippedLine } from './backlog.js' */
/** @import { Link, LinkParts } from './transports.js' */

/** A host that has vanished says nothing; the system asks after it. */
const KEEP_ALIVE_MS = 30_000;

/**
 * Over TCP or a Unix socket.
 * @param {{host: string, port: number} | {path: string}} address
 * @param {(line: ShippedLine) => string} frame
 * @param {LinkParts} parts
 * @returns {Link}
 */
export function createStreamLink(address, frame, { clock, events }) {
  const told = onceOnly(events);
  const socket = connect({ ...address, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS });
  // Only when its last words are read is the end of the other side noticed.
  socket.resume();
  let cancelEnd = () => {};
  socket.on('connect', told.onOpen);
  socket.on('end', () => {
    socket.destroy();
    told.onDown('the other side has closed the connection');
  });
  socket.on('error', (error) => told.onDown(reasonOf(error)));
  socket.on('close', () => told.onDown('the connection was closed'));

  return {
    write(lines) {
      socket.write(lines.map(frame).join(''), (error) => {
        if (!error) told.onTaken(lines.length);
      });
    },
    close(graceMs) {
      told.mute();
      cancelEnd();
      if (socket.closed) return Promise.resolve();
      return new Promise((resolve) => {
        cancelEnd = clock.after(graceMs, () => socket.destroy());
        socket.on('close', () => {
          cancelEnd();
          resolve();
        });
        if (socket.connecting) socket.destroy();
        else socket.end();
      });
    },
  };
}
