// Until the app listens, refuses its connections to ports that only the keeper or another instance
// of the app holds (daemon/keeper/sockets/own-ports.js).
'use strict';

const net = require('node:net');

/** @import { Channel } from './channel.cjs' */

/**
 * @param {Channel} channel
 * @returns {() => void}  Call it when the process listens.
 */
function refuseOwnPort(channel) {
  /** @type {Map<number, (isOwn: boolean) => void>} */
  const waiting = new Map();
  let lastSeq = 0;
  channel.on('reached', ({ seq, isOwn }) => waiting.get(seq)?.(isOwn === true));
  /**
   * @param {object} address
   * @param {(isOwn: boolean) => void} then
   */
  const ask = (address, then) => {
    const seq = (lastSeq += 1);
    if (!channel.isOpen() || !channel.say({ act: 'reached', seq, ...address })) return then(false);
    const release = channel.hold();
    waiting.set(seq, (isOwn) => {
      waiting.delete(seq);
      release();
      then(isOwn);
    });
  };
  const stop = patchConnect(ask);
  return () => {
    stop();
    for (const answer of [...waiting.values()]) answer(false);
  };
}

/**
 * Patches connect() of the handles, because this function runs once for each address, after the
 * name lookup, and other tools do not patch it.
 * @param {(address: { address: string, port: number }, then: (isOwn: boolean) => void) => void} ask
 * @returns {() => void}  Removes the patch.
 */
function patchConnect(ask) {
  const prototype = prototypeOfHandles();
  if (!prototype) return () => {};
  const undo = ['connect', 'connect6'].map((name) => {
    const original = prototype[name];
    /**
     * @this {any}
     * @param {any} request
     * @param {unknown[]} rest
     */
    function connect(request, ...rest) {
      const { oncomplete } = request;
      request.oncomplete = function (
        /** @type {number} */ status,
        /** @type {any} */ handle,
        /** @type {any[]} */ ...more
      ) {
        const address = status === 0 ? getOwnAddress(handle) : null;
        if (!address) return oncomplete.call(this, status, handle, ...more);
        // Required here, because few programs need these modules, and each module takes memory.
        const { AsyncResource } = require('node:async_hooks');
        const os = require('node:os');
        const then = AsyncResource.bind((/** @type {boolean} */ isOwn) =>
          isOwn
            ? oncomplete.call(this, -os.constants.errno.ECONNREFUSED, handle, request, false, false)
            : oncomplete.call(this, status, handle, ...more),
        );
        ask(address, then);
      };
      return original.call(this, request, ...rest);
    }
    prototype[name] = connect;
    return () => {
      if (prototype[name] === connect) prototype[name] = original;
    };
  });
  return () => undo.forEach((one) => one());
}

/** Returns null if the system or the permission model forbids the network. */
function prototypeOfHandles() {
  try {
    const handle = /** @type {any} */ (net)._createServerHandle('0.0.0.0', 0, 4);
    if (typeof handle === 'number') return null;
    const prototype = Object.getPrototypeOf(handle);
    handle.close();
    return prototype;
  } catch {
    return null;
  }
}

/**
 * @param {any} handle
 * @returns {{ address: string, port: number } | null}  Null: the peer is on another machine, or
 *   its address is not known.
 */
function getOwnAddress(handle) {
  /** @type {{ address?: string, port?: number }} */
  const peer = {};
  /** @type {{ address?: string }} */
  const self = {};
  if (handle.getpeername(peer) !== 0 || handle.getsockname(self) !== 0) return null;
  const { address = '', port = 0 } = peer;
  const isHere = address === self.address || address.startsWith('127.');
  return isHere && net.isIP(address) !== 0 ? { address, port } : null;
}

module.exports = { refuseOwnPort };
