import { describeError } from './host/log.js';
import { KeeperError, PROTOCOL } from './protocol.js';

/** @import { Peer } from './control-supervisor.js' */
/** @import { Handle } from './sockets/listeners.js' */
/** @import { Log } from './host/log.js' */

/** @typedef {(params: any, handle: Handle | undefined) => unknown | Promise<unknown>} Verb */

/** @param {Log} log */
export function createControlLink(log) {
  /** @type {Peer | null} */
  let peer = null;
  /** @type {Record<string, Verb>} */
  let verbs = {};
  /** @type {(data: any) => void} */
  let onFatal = () => {};
  let onDisconnected = () => {};

  /**
   * @param {object} message
   * @param {Handle} [handle]
   * @param {() => void} [onSent]
   */
  const send = (message, handle, onSent = () => {}) => {
    if (!peer?.connected || !peer.send) return onSent();
    // Ignores an error: it means that control is dying. The next control gets a snapshot.
    peer.send({ v: PROTOCOL, ...message }, handle, undefined, () => onSent());
  };

  /**
   * @param {object} message
   * @param {unknown} [message.v]
   * @param {unknown} [message.id]
   * @param {unknown} [message.verb]
   * @param {unknown} [message.event]
   * @param {unknown} [message.data]
   * @param {unknown} [message.params]
   * @param {Handle} [handle]
   */
  const receive = async (message, handle) => {
    if (message?.event === 'fatal') return onFatal(message.data);
    const { id } = message ?? {};
    try {
      send({ id, ok: (await answer(message, handle)) ?? {} });
    } catch (error) {
      const code = /** @type {NodeJS.ErrnoException} */ (error).code ?? 'EFAILED';
      if (!(error instanceof KeeperError)) log('verb-failed', { verb: message.verb, ...describeError(error) });
      send({ id, error: { code, message: error instanceof Error ? error.message : String(error) } });
    }
  };

  /**
   * @param {{ v?: unknown, verb?: unknown, params?: unknown }} message
   * @param {Handle} [handle]
   */
  const answer = (message, handle) => {
    if (message?.v !== PROTOCOL)
      throw new KeeperError('EPROTO', `protocol version ${message?.v} is not supported, only ${PROTOCOL}`);
    const verb = typeof message.verb === 'string' && Object.hasOwn(verbs, message.verb) ? verbs[message.verb] : null;
    if (!verb) throw new KeeperError('ENOSYS', `unknown verb ${JSON.stringify(message.verb)}`);
    return verb(message.params ?? {}, handle);
  };

  return {
    /**
     * Must be called before connect().
     * @param {object} o
     * @param {Record<string, Verb>} o.verbs
     * @param {(data: any) => void} o.onFatal
     */
    serve(o) {
      ({ verbs, onFatal } = o);
    },
    /** @param {Peer} next */
    connect(next) {
      peer = next;
      next.on('message', (message, handle) => {
        if (peer === next) void receive(message, handle);
      });
    },
    disconnect() {
      peer = null;
      onDisconnected();
    },
    /** @returns {Promise<void>} */
    disconnected() {
      return new Promise((resolve) => {
        onDisconnected = resolve;
        if (peer?.pid === undefined) resolve();
      });
    },
    /**
     * @param {string} name
     * @param {object} data
     * @param {Handle} [handle]
     * @param {() => void} [onSent]
     */
    event(name, data, handle, onSent) {
      send({ event: name, data }, handle, onSent);
    },
    get pid() {
      return peer?.pid ?? null;
    },
  };
}
