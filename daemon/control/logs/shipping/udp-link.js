import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns';
import { onceOnly, reasonOf } from './transports.js';

/** @import { ShippedLine } from './backlog.js' */
/** @import { Link, LinkParts } from './transports.js' */

/** Characters of one message, which may be four times as many bytes: common receivers cut at 8 KiB. A longer line is sent in parts. */
const TEXT_MAX = 2_000;

/**
 * Over UDP, a datagram for each line. Nobody says whether one has arrived; where nobody listens on a host that can be reached, the second one fails.
 * @param {{host: string, port: number}} address
 * @param {(line: ShippedLine) => string} message
 * @param {LinkParts} parts
 * @returns {Link}
 */
export function createUdpLink({ host, port }, message, { events }) {
  const told = onceOnly(events);
  /** @type {import('node:dgram').Socket|null} */
  let socket = null;

  lookup(host, (error, address, family) => {
    if (told.isOver()) return;
    if (error) return told.onDown(reasonOf(error));
    const opened = createSocket(family === 6 ? 'udp6' : 'udp4');
    socket = opened;
    opened.on('error', fail);
    opened.on('connect', told.onOpen);
    opened.connect(port, address);
  });

  /** @param {Error} error */
  function fail(error) {
    closeSocket();
    told.onDown(reasonOf(error));
  }

  function closeSocket() {
    socket?.close();
    socket = null;
  }

  return {
    write(lines) {
      for (const entry of lines) {
        const parts = partsOf(entry.line);
        for (const [at, line] of parts.entries()) {
          socket?.send(message({ ...entry, line }), (error) => {
            if (error) fail(error);
            else if (at === parts.length - 1) told.onTaken(1);
          });
        }
      }
    },
    async close() {
      told.mute();
      closeSocket();
    },
  };
}

/** @param {string} line */
function partsOf(line) {
  if (line.length <= TEXT_MAX) return [line];
  /** @type {string[]} */
  const parts = [];
  for (let from = 0; from < line.length; from += parts[parts.length - 1].length) parts.push(line.slice(from, endOfPart(line, from + TEXT_MAX)));
  return parts;
}

/** Not between the two halves of a character. @param {string} line @param {number} end */
function endOfPart(line, end) {
  const code = line.charCodeAt(end - 1);
  return code >= 0xd800 && code <= 0xdbff && end < line.length ? end - 1 : end;
}
