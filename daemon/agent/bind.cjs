'use strict';

const net = require('node:net');
const { requireOnDemand } = require('./loader.cjs');

/** Flags of uv_tcp_bind(). */
const IPV6_ONLY = 1;
const REUSE_PORT = 2;

/**
 * @typedef {object} Claim  See daemon/keeper/sockets/listeners.js.
 * @property {string | null} address
 * @property {number} port
 * @property {number} family
 * @property {number} flags
 * @property {number} index
 */

/**
 * First tries to bind without SO_REUSEPORT, because SO_REUSEPORT would hide a conflict. Then binds
 * with SO_REUSEPORT. Returns null if the bind fails, usually because the address is in use.
 * @param {Claim} claim
 */
function bindAlone(claim) {
  if (claim.family === 0) return requireOnDemand('./bind-path.cjs').bindPath(claim.address ?? '');
  const probe = tryBind(claim, 0);
  if (!probe) return null;
  probe.handle.close();
  return tryBind({ ...claim, port: probe.port }, REUSE_PORT)?.handle ?? null;
}

/**
 * Binds an address that other processes may use too (SO_REUSEPORT, since Node.js 22.12). Returns
 * null for a Unix socket, or if the bind fails.
 * @param {Claim} claim
 */
function bindBeside(claim) {
  return claim.family === 0 ? null : (tryBind(claim, REUSE_PORT)?.handle ?? null);
}

/**
 * @param {Claim} claim
 * @param {{ reusePort?: boolean }} options
 */
function bindOwn(claim, { reusePort }) {
  return tryBind(claim, reusePort ? REUSE_PORT : 0);
}

/**
 * @param {Claim} claim
 * @param {number} flags
 */
function tryBind({ address, port, family, flags: own }, flags) {
  const handle = /** @type {any} */ (net)._createServerHandle(address, port, family, undefined, own | flags);
  if (typeof handle === 'number') return null;
  const bound = { port };
  // libuv defers an error of bind(2), and getsockname() returns that error.
  if (handle.getsockname(bound) === 0) return { handle, port: bound.port };
  handle.close();
  return null;
}

/**
 * Opens a handle for a server that only checks whether an address is free. The handle accepts no
 * connections.
 * @param {Claim} claim
 */
function openSubstitute({ address, port }) {
  const handle = /** @type {any} */ (net)._createServerHandle('0.0.0.0', 0, 4);
  const family = address === null || address.includes(':') ? 'IPv6' : 'IPv4';
  handle.getsockname = (/** @type {object} */ out) => (
    Object.assign(out, { address: address ?? '::', port, family }),
    0
  );
  handle.listen = () => 0;
  return handle;
}

/** @param {number} fd */
function openHandle(fd) {
  return /** @type {any} */ (net)._createServerHandle(null, 0, 4, fd);
}

/** @param {Claim} claim */
function claimKey({ address, port, family, flags, index }) {
  return [address ?? '*', port, family, flags, index].join('|');
}

module.exports = { bindAlone, bindBeside, bindOwn, openHandle, openSubstitute, claimKey, IPV6_ONLY };
