import { readdirSync } from 'node:fs';
import { heapInUse } from './heap.js';
import { privateBytes } from './processes.js';

/**
 * What a process holds.
 * @typedef {{fds: number, heapBytes: number, privateBytes: number}} Footprint  `privateBytes` swings with what has not been collected yet.
 */

/**
 * @param {number} pid
 * @returns {Promise<Footprint>}
 */
export async function footprintOf(pid) {
  return { fds: countDescriptors(pid), privateBytes: privateBytes(pid), heapBytes: await heapInUse(pid) };
}

/** @param {number} pid */
export const countDescriptors = (pid) => readdirSync(`/proc/${pid}/fd`).length;

/**
 * @param {Record<string, Footprint>} byName
 * @returns {string}
 */
export function footprintLine(byName) {
  const mb = (/** @type {number} */ bytes) => (bytes / 2 ** 20).toFixed(2);
  return Object.entries(byName).map(([name, one]) => `${name} ${one.fds} fds, heap ${mb(one.heapBytes)} MB, private ${mb(one.privateBytes)} MB`).join('; ');
}
