// JSON-RPC 2.0, one message a line.

/** @import { WireError } from '../errors.js' */

export const RPC_ERROR = /** @type {const} */ ({
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
});

/**
 * @typedef {object} RpcMessage
 * @property {'2.0'} jsonrpc
 * @property {string | number | null} [id]
 * @property {string} [method]
 * @property {Record<string, unknown>} [params]
 * @property {unknown} [result]
 * @property {WireError} [error]
 */

/** @typedef {{ message: RpcMessage } | { fault: WireError, id: string | number | null }} Parsed */

/**
 * @typedef {object} LineReader
 * @property {(chunk: Uint8Array) => void} push
 * @property {() => number} pendingBytes
 */

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * The reader skips empty lines. At a line above the limit, the reader calls onTooLong once and
 * ignores all later data.
 * @param {object} o
 * @param {number} o.maxBytes  Without the newline.
 * @param {(line: string) => void} o.onLine
 * @param {() => void} o.onTooLong  The caller closes the connection.
 * @returns {LineReader}
 */
export function createLineReader({ maxBytes, onLine, onTooLong }) {
  /** @type {Uint8Array[]} */
  let parts = [];
  let heldBytes = 0;
  let isGivenUp = false;

  function giveUp() {
    isGivenUp = true;
    parts = [];
    heldBytes = 0;
    onTooLong();
  }

  /** @param {Uint8Array} part */
  function hold(part) {
    // Copies the part, because a socket may reuse the buffer of its data.
    if (part.length > 0) parts.push(Uint8Array.prototype.slice.call(part));
    heldBytes += part.length;
  }

  /** @param {Uint8Array} end */
  function finish(end) {
    const bytes =
      parts.length === 0 ? Buffer.from(end.buffer, end.byteOffset, end.length) : Buffer.concat([...parts, end]);
    parts = [];
    heldBytes = 0;
    const length = bytes.at(-1) === CARRIAGE_RETURN ? bytes.length - 1 : bytes.length;
    if (length > 0) onLine(bytes.toString('utf8', 0, length));
  }

  /** @param {Uint8Array} chunk */
  function push(chunk) {
    let from = 0;
    while (!isGivenUp && from < chunk.length) {
      const at = chunk.indexOf(NEWLINE, from);
      const to = at === -1 ? chunk.length : at;
      if (heldBytes + (to - from) > maxBytes) return giveUp();
      if (at === -1) return hold(chunk.subarray(from));
      finish(chunk.subarray(from, at));
      from = at + 1;
    }
  }

  return { push, pendingBytes: () => heldBytes };
}

/**
 * Never throws. For a bad line, returns the error to send back.
 * @param {string} line
 * @returns {Parsed}
 */
export function parseLine(line) {
  /** @type {unknown} */
  let value;
  try {
    value = JSON.parse(line);
  } catch {
    return { fault: { code: RPC_ERROR.parse, message: 'The line is not JSON.' }, id: null };
  }
  return checkMessage(value);
}

/**
 * @param {string | number} id
 * @param {string} method
 * @param {object} params
 */
export function requestLine(id, method, params) {
  return `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
}

/**
 * @param {string | number | null} id
 * @param {unknown} result
 */
export function resultLine(id, result) {
  return `${JSON.stringify({ jsonrpc: '2.0', id, result: result ?? {} })}\n`;
}

/**
 * @param {string | number | null} id
 * @param {WireError} error
 */
export function errorLine(id, error) {
  return `${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`;
}

/**
 * @param {string} method
 * @param {object} params
 */
export function notificationLine(method, params) {
  return `${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`;
}

/**
 * @param {unknown} value
 * @returns {Parsed}
 */
function checkMessage(value) {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return invalid(null, 'A message is one JSON object; batches are not supported.');
  const message = /** @type {Record<string, unknown>} */ (value);
  const id = typeof message.id === 'string' || typeof message.id === 'number' ? message.id : null;
  if (message.jsonrpc !== '2.0') return invalid(id, '"jsonrpc" has to be "2.0".');
  if (message.id !== undefined && message.id !== id) return invalid(null, '"id" has to be a string or a number.');
  if ('result' in message || 'error' in message) return { message: /** @type {RpcMessage} */ (value) };
  if (typeof message.method !== 'string') return invalid(id, '"method" has to be a string.');
  const { params } = message;
  if (params !== undefined && (typeof params !== 'object' || params === null || Array.isArray(params))) {
    return { fault: { code: RPC_ERROR.invalidParams, message: '"params" has to be an object.' }, id };
  }
  return { message: /** @type {RpcMessage} */ (value) };
}

/**
 * @param {string | number | null} id
 * @param {string} message
 * @returns {Parsed}
 */
function invalid(id, message) {
  return { fault: { code: RPC_ERROR.invalidRequest, message }, id };
}
