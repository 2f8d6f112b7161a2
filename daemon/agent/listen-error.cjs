// The shape of Node's own error, with who holds the address.
'use strict';

const { errno } = require('node:os').constants;

/** @import { Claim } from './bind.cjs' */

/**
 * @param {{ code: string, message: string }} refusal
 * @param {Claim} claim
 * @param {() => string} calledAt  Stack frames of the listen(). Empty: the stack of the error is as
 *   the app wants stacks to be.
 */
function listenError({ code, message }, { address, port, family }, calledAt) {
  const where = family === 0 ? address : `${address ?? '::'}:${port}`;
  const meaning = code === 'EADDRINUSE' ? `address already in use ${where} (${message})` : `${message} ${where}`;
  const error = new Error(`listen ${code}: ${meaning}`);
  const frames = calledAt();
  if (frames !== '') error.stack = `Error: ${error.message}\n${frames}`;
  const number = -(/** @type {any} */ (errno)[code] ?? 0);
  return Object.assign(error, {
    code,
    errno: number,
    syscall: 'listen',
    address: address ?? '::',
    port: family === 0 ? -1 : port,
  });
}

module.exports = { listenError };
