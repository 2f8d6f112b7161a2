/** @import { Server } from 'node:http' */
/** @import { Socket } from 'node:net' */
/** @import { Duplex } from 'node:stream' */

/** Hexadecimal groups of an IPv6 address that one client can choose: the last 64 bits. */
const OWN_GROUPS = 4;

/** @typedef {{ group: string, requests: number }} Guest  `requests`: not answered yet. */

/**
 * Limits the open connections of a server that strangers can reach. A new connection always gets a
 * place, so that strangers cannot keep it out: the address with the most connections loses its
 * oldest connection that waits for no answer.
 * @param {Server} server
 * @param {number} max
 * @returns {{ exempt: (socket: Duplex) => void }}  exempt: the connection no longer counts.
 */
export function limitConnections(server, max) {
  /** Oldest first. @type {Map<Duplex, Guest>} */
  const guests = new Map();
  server.prependListener('connection', (/** @type {Socket} */ socket) => {
    if (guests.size >= max) choose(guests, groupOf(socket.remoteAddress)).destroy();
    guests.set(socket, { group: groupOf(socket.remoteAddress), requests: 0 });
    socket.once('close', () => guests.delete(socket));
  });
  server.prependListener('request', ({ socket }, response) => {
    const guest = guests.get(socket);
    if (!guest) return;
    guest.requests += 1;
    response.once('close', () => (guest.requests -= 1));
  });
  return { exempt: (socket) => void guests.delete(socket) };
}

/**
 * @param {Map<Duplex, Guest>} guests
 * @param {string} newcomer  Its group.
 * @returns {Duplex}  The connection that gives way.
 */
function choose(guests, newcomer) {
  /** @type {Map<string, number>} */
  const sizes = new Map([[newcomer, 1]]);
  for (const { group } of guests.values()) sizes.set(group, (sizes.get(group) ?? 0) + 1);
  const most = Math.max(...[...guests.values()].map(({ group }) => sizes.get(group) ?? 0));
  const ofMost = [...guests].filter(([, { group }]) => sizes.get(group) === most);
  return (ofMost.find(([, { requests }]) => requests === 0) ?? ofMost[0])[0];
}

/**
 * @param {string} [address]  Missing: a Unix socket.
 * @returns {string}  The same for all addresses that one client can choose.
 */
export function groupOf(address = '') {
  const plain = address.replace(/^::ffff:(?=\d+\.)/, '').replace(/%.*$/, '');
  if (!plain.includes(':')) return plain;
  const [head, tail = []] = plain.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = plain.includes('::') ? Array(8 - head.length - tail.length).fill('0') : [];
  return [...head, ...zeros, ...tail].slice(0, 8 - OWN_GROUPS).join(':');
}
