// What a program hears that asks by a connection whether its own port is in use. Started by hand it
// would be refused: nothing listens there before it does. Here the keeper holds the socket for it,
// or other instances of the app accept there. So until this process listens itself, its connections
// to an address of its own app are refused, if the keeper says so.
'use strict';

const net = require('node:net');

/** @import { Channel } from './channel.cjs' */

/**
 * @param {Channel} channel
 * @returns {() => void}  Ends it.
 */
function refuseOwnPort(channel) {
  /** Connections that wait for the keeper, by number. @type {Map<number, (isOwn: boolean) => void>} */
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
 * The connect() of handles and not that of sockets: it comes after the lookup of names, once for
 * each address, and no other tool patches it.
 * @param {(address: { address: string, port: number }, then: (isOwn: boolean) => void) => void} ask
 * @returns {() => void}  Ends it.
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
        const address = status === 0 ? ownAddressOf(handle) : null;
        if (!address) return oncomplete.call(this, status, handle, ...more);
        // Few programs come here, and each module that is read takes memory.
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

/** Null: this process may not use the network, by the system or by Node's permission model. */
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
 * @param {any} handle  Connected.
 * @returns {{ address: string, port: number } | null}  Null: the peer is on another machine.
 */
function ownAddressOf(handle) {
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
