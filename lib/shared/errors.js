import { EXIT_STATUS_OF } from './error-codes.js';
import { isRecord } from './is-record.js';

/** @import { WireError } from './wire/rpc.js' */

/** @typedef {keyof typeof EXIT_STATUS_OF} ErrorCode */

/** JSON-RPC's number for an error that `data` explains. */
const SERVER_ERROR = -32000;

export class NclustError extends Error {
  /**
   * @param {ErrorCode} code
   * @param {string} message
   * @param {object} [options]
   * @param {string | null} [options.hint]  The next step of the user: a sentence or a command.
   * @param {unknown} [options.data]
   * @param {unknown} [options.cause]
   * @param {number} [options.exitStatus]
   */
  constructor(code, message, { hint = null, data = null, cause, exitStatus } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'NclustError';
    this.code = code;
    this.hint = hint;
    this.data = data;
    this.exitStatus = exitStatus ?? EXIT_STATUS_OF[code] ?? 1;
  }
}

/**
 * @param {unknown} error
 * @returns {WireError}
 */
export function toWire(error) {
  const known = toNclustError(error);
  return {
    code: SERVER_ERROR,
    message: known.message,
    data: { code: known.code, hint: known.hint, data: known.data, exitStatus: known.exitStatus },
  };
}

/**
 * An error without a code in `data` becomes ERR_NCLUST_PROTOCOL, for example an error of JSON-RPC
 * itself (-32700 to -32600).
 * @param {WireError} wire
 */
export function fromWire(wire) {
  if (isRecord(wire.data) && typeof wire.data.code === 'string')
    return fromFields({ ...wire.data, message: wire.message });
  return new NclustError('ERR_NCLUST_PROTOCOL', wire.message, { data: { rpcCode: wire.code } });
}

/**
 * Keeps an error code that this version does not know.
 * @param {Record<string, unknown>} fields
 */
export function fromFields({ code, message, hint, data, exitStatus }) {
  return new NclustError(/** @type {ErrorCode} */ (code), String(message), {
    hint: typeof hint === 'string' ? hint : null,
    data: data ?? null,
    exitStatus: typeof exitStatus === 'number' ? exitStatus : undefined,
  });
}

/** @param {unknown} error */
export function toNclustError(error) {
  if (error instanceof NclustError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new NclustError('ERR_NCLUST_INTERNAL', message, { cause: error });
}
