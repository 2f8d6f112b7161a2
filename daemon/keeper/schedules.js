/** @import { Child } from './child.js' */
/** @import { Handle } from './sockets/listeners.js' */

/** @param {Child[]} children */
export function leastLoaded(children) {
  return children.reduce(
    (/** @type {Child | null} */ least, one) => (least === null || one.load < least.load ? one : least),
    null,
  );
}

/**
 * @param {Child[]} workers
 * @param {number} [waiting]  Connections that are not assigned to a worker yet.
 */
export function meanLoad(workers, waiting = 0) {
  return workers.reduce((sum, { load }) => sum + load, waiting) / workers.length;
}

/**
 * Rendezvous hashing: when a slot comes or goes, only the clients of this slot move.
 * @param {Child[]} children
 * @param {Handle} handle
 */
export function stickyTarget(children, handle) {
  /** @type {{ address?: string }} */
  const peer = {};
  handle.getpeername?.(peer);
  const client = (peer.address ?? '').replace(/^::ffff:/, '');
  const score = (/** @type {Child} */ one) => hash(`${client}|${one.slot}`);
  // During a reload a slot has two instances with the same score. The last of them wins.
  return children.reduce(
    (/** @type {Child | null} */ best, one) => (best === null || score(one) >= score(best) ? one : best),
    null,
  );
}

/**
 * FNV-1a, with the last step of MurmurHash3 so that one digit changes all bits.
 * @param {string} text
 */
function hash(text) {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
