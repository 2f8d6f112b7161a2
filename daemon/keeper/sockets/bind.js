import net from 'node:net';
import { getSystemErrorName } from 'node:util';
import { callAsOwner } from '../host/owner.js';
import { bindPath } from './unix-path.js';

/** @import { Claim, Handle } from './listeners.js' */
/** @import { Owner } from '../host/owner.js' */

/** UV_TCP_REUSEPORT, in Node.js 22.12 and later. Older versions ignore this bit. */
export const REUSE_PORT = 2;

/**
 * @typedef {(
 *   address: string | null,
 *   port: number,
 *   family: number,
 *   fd: undefined,
 *   flags: number,
 * ) => Handle | number} CreateHandle
 */

// Uses a private function of Node.js, as node:cluster does, because the public API would also
// listen and accept.
const createHandle = /** @type {{ _createServerHandle: CreateHandle }} */ (/** @type {unknown} */ (net))
  ._createServerHandle;

/**
 * @param {Claim} claim
 * @param {Owner | null} owner
 * @param {boolean} isTakenOver
 */
export function bindToPath(claim, owner, isTakenOver) {
  const bind = (/** @type {string} */ name) => bindOnce({ ...claim, address: name }, 0);
  try {
    return callAsOwner(owner, () => bindPath(claim.address ?? '', bind, { isTakenOver }));
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST')
      throw new BindError('EADDRINUSE', 'the path exists', true);
    throw error;
  }
}

/**
 * @param {Claim} claim
 * @param {Owner | null} owner
 * @param {boolean} isTakenOver
 */
export function bindAgain(claim, owner, isTakenOver) {
  try {
    return bindToPath(claim, owner, isTakenOver);
  } catch {
    // For example, another process owns the path, or the folder is gone. The keeper keeps the old
    // socket.
    return null;
  }
}

/**
 * @param {Claim} claim
 * @param {number} flags
 */
export function bindOnce({ address, port, family, flags: own }, flags) {
  const handle =
    family === 0
      ? createHandle(address, -1, -1, undefined, 0)
      : createHandle(address, port, family, undefined, own | flags);
  const errno = typeof handle === 'number' ? handle : (handle.getsockname?.({}) ?? 0);
  if (errno === 0) return /** @type {Handle} */ (handle);
  if (typeof handle !== 'number') handle.close();
  throw systemError(errno);
}

/** @param {number} errno */
function systemError(errno) {
  const code = getSystemErrorName(errno);
  return new BindError(
    code,
    code === 'EADDRINUSE' ? 'held by a program outside of this nclust' : code,
    code === 'EADDRINUSE',
  );
}

export class BindError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {boolean} [isForeign]  An orphan or a program outside of nclust has the address.
   */
  constructor(code, message, isForeign = false) {
    super(message);
    this.name = 'BindError';
    this.code = code;
    this.isForeign = isForeign;
  }
}
