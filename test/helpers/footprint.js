import { readdirSync } from 'node:fs';
import { inUse } from './heap.js';

/** @import { InUse } from './heap.js' */

/** @typedef {InUse & { fds: number }} Footprint */

/**
 * @param {number} pid
 * @returns {Promise<Footprint>}
 */
export async function footprintOf(pid) {
  return { fds: countDescriptors(pid), ...(await inUse(pid)) };
}

/** @param {number} pid */
export const countDescriptors = (pid) => readdirSync(`/proc/${pid}/fd`).length;

/** @param {Record<string, Footprint>} byName */
export function footprintLine(byName) {
  const mb = (/** @type {number} */ bytes) => (bytes / 2 ** 20).toFixed(2);
  return Object.entries(byName)
    .map(
      ([name, one]) =>
        `${name} ${one.fds} fds, heap ${mb(one.heapBytes)} MB, private ${mb(one.privateBytes)} MB, handles ` +
        `${JSON.stringify(one.handles)}`,
    )
    .join('; ');
}
