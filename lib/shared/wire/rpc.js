// JSON-RPC 2.0, one message a line.
import { isRecord } from '../is-record.js';

export const RPC_ERROR = /** @type {const} */ ({
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
});

/**
 * @typedef {object} WireError
 * @property {number} code
 * @property {string} message
 * @property {unknown} [data]
 */

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
  if (!isRecord(value)) return invalid(null, 'A message is one JSON object; batches are not supported.');
  const message = value;
  const id = typeof message.id === 'string' || typeof message.id === 'number' ? message.id : null;
  if (message.jsonrpc !== '2.0') return invalid(id, '"jsonrpc" has to be "2.0".');
  if (message.id !== undefined && message.id !== id) return invalid(null, '"id" has to be a string or a number.');
  if ('result' in message || 'error' in message) return { message: /** @type {RpcMessage} */ (value) };
  if (typeof message.method !== 'string') return invalid(id, '"method" has to be a string.');
  const { params } = message;
  if (params !== undefined && !isRecord(params)) {
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
