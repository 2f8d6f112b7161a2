import net from 'node:net';
import { getSystemErrorName } from 'node:util';
import { withUid } from '../host/owner.js';
import { bindPath } from './unix-path.js';

/** @import { Claim, Handle } from './listeners.js' */
/** @import { Owner } from '../host/owner.js' */

/** UV_TCP_REUSEPORT, which libuv has since Node.js 22.12. Older ones ignore the bit. */
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

// As lib/internal/cluster/shared_handle.js does. The public API would listen and accept.
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
    return withUid(owner, () => bindPath(claim.address ?? '', bind, { isTakenOver }));
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST')
      throw new BindError('EADDRINUSE', 'the path exists', true);
    throw error;
  }
}

/**
 * @param {Claim} claim
 * @param {Owner | null} owner
 */
export function bindAgain(claim, owner) {
  try {
    return bindToPath(claim, owner, false);
  } catch {
    // Another process has the path, or its folder is gone. The held socket still works.
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
    code === 'EADDRINUSE' ? 'held by a program outside of nclust' : code,
    code === 'EADDRINUSE',
  );
}

export class BindError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {boolean} [isForeign]  An orphan or a program outside of nclust has it.
   */
  constructor(code, message, isForeign = false) {
    super(message);
    this.name = 'BindError';
    this.code = code;
    this.isForeign = isForeign;
  }
}
