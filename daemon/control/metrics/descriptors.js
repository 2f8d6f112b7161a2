import { readFilesLimit } from '../../../lib/shared/host/system-limits.js';
import { countFds } from '../host/processes.js';
import { countSockets } from '../host/socket-holder.js';

/** Sockets are counted above this share of the limit. */
const FULL = 0.8;
/** Sockets are not counted among more descriptors, because each one costs 3 us. */
const LOOKED_AT_MAX = 10_000;

/**
 * @typedef {object} Descriptors  Of the process itself. Null: not known.
 * @property {number | null} fds
 * @property {number | null} fdsLimit
 * @property {number | null} sockets  Known only if the process is close to its limit.
 */

/** @type {Descriptors} */
export const NO_DESCRIPTORS = { fds: null, fdsLimit: null, sockets: null };

const SYSTEM = { countFds, readFilesLimit, countSockets };

/**
 * Reads the limit each time, because prlimit(1) or the process itself may change it.
 * @param {number} pid
 * @param {typeof SYSTEM} [system]
 * @returns {Descriptors}
 */
export function readDescriptors(pid, system = SYSTEM) {
  const fds = system.countFds(pid);
  if (fds === null) return NO_DESCRIPTORS;
  const limit = system.readFilesLimit(pid);
  const isFull = fds > FULL * limit && fds <= LOOKED_AT_MAX;
  return { fds, fdsLimit: limit === Infinity ? null : limit, sockets: isFull ? system.countSockets(pid) : null };
}
