// Knows: the communication with the keeper: requests, events, how to start the next keeper. Must
// not: import code of the keeper, or decide what to ask the keeper. Because of the first rule, this
// file repeats the types of daemon/keeper/protocol.js.

/** @import { ListenFailure } from '../../../lib/shared/wire/protocol.js' */
/** @import { Address, Exit } from '../state/registry.js' */

/**
 * Either end of an IPC channel: `process` in a child, a ChildProcess in its parent.
 * @typedef {object} Port
 * @property {boolean} [connected]
 * @property {(
 *   message: object,
 *   handle?: any,
 *   options?: object,
 *   onSent?: (error: Error | null) => void,
 * ) => unknown} send
 * @property {(event: 'message' | 'disconnect', listener: (...args: any[]) => void) => unknown} on
 * @property {(event: 'message' | 'disconnect', listener: (...args: any[]) => void) => unknown} off
 */

/**
 * @typedef {object} ChildSnapshot
 * @property {string} instanceId
 * @property {string} app
 * @property {unknown} label
 * @property {number} pid
 * @property {'cluster' | 'fork' | 'exec'} mode
 * @property {number} startedAtMs
 * @property {number | null} [bootedAtMs]  Null: not booted yet. Missing: the keeper has an earlier
 *   version.
 * @property {string | null} outPipe
 * @property {string | null} errPipe
 * @property {Address[]} addresses
 * @property {ListenFailure | null} [listenFailure]
 * @property {boolean} isReady
 * @property {boolean} isRetiring
 * @property {boolean} isAdopted
 * @property {boolean} [isGated]  Missing: the keeper has an earlier version, without a gate.
 * @property {boolean} [isParked]
 * @property {Exit | null} exit
 * @property {boolean} isGone
 * @property {unknown} [report]  Last report of the agent, after the process is gone.
 */

/**
 * @typedef {object} Snapshot
 * @property {string} version
 * @property {number} protocol
 * @property {number} pid
 * @property {number} startedAtMs
 * @property {ChildSnapshot[]} children
 * @property {{ app: string, scope?: string }[]} listeners
 * @property {Record<string, unknown>} notes
 * @property {boolean} [isTerminating]
 * @property {string} [digest]  Digest of the keeper's code.
 * @property {string} [root]  The installation that control is started from.
 * @property {string | null} [refusedRoot]  An installation that the keeper refuses, because its
 *   control failed: see `refusedWhy`.
 * @property {'unready' | 'crashed' | 'silent' | null} [refusedWhy]
 */

/**
 * @typedef {object} KeeperLink
 * @property {(verb: string, params: object, handle?: unknown) => Promise<any>} request
 *   Rejects with a KeeperRefusal, or with a KeeperLost if the keeper is gone.
 * @property {(
 *   verb: string,
 *   params: object,
 *   onAnswer: (answer: any) => void,
 *   onRefused?: (refusal: KeeperRefusal) => void,
 * ) => void} requestInOrder  Like request(), but calls back synchronously, because a promise would
 *   resolve after events that arrived in the same message. Does nothing if the keeper is gone.
 * @property {(event: string, data: object) => void} announce
 * @property {() => number} heard  Number of messages from the keeper.
 * @property {() => boolean} isWaiting  A request has no answer yet.
 * @property {() => void} close  Stops listening. Open requests stay unanswered.
 */

export class KeeperRefusal extends Error {
  /** @param {{ code?: string, message?: string }} error */
  constructor({ code = 'EUNKNOWN', message = 'the keeper gave no reason' }) {
    super(message);
    this.name = 'KeeperRefusal';
    this.code = code;
  }
}

export class KeeperLost extends Error {
  constructor() {
    super('The keeper has exited.');
    this.name = 'KeeperLost';
  }
}

const VERSION = 1;

/**
 * @param {Port} port
 * @param {object} o
 * @param {(event: string, data: any, handle: unknown) => void} o.onEvent
 * @param {() => void} o.onLost  Called once, after all open requests were rejected.
 * @returns {KeeperLink}
 */
export function createKeeperLink(port, { onEvent, onLost }) {
  /** @typedef {{ resolve: (value: any) => void, reject: (error: Error) => void }} Waiting */
  /** @type {Map<number, Waiting>} */
  const waiting = new Map();
  let nextId = 1;
  let heard = 0;
  let isLost = false;

  /**
   * @param {any} message
   * @param {unknown} handle
   */
  function onMessage(message, handle) {
    if (message?.v !== VERSION) return;
    heard += 1;
    if (typeof message.event === 'string') return onEvent(message.event, message.data ?? {}, handle);
    const request = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error) request?.reject(new KeeperRefusal(message.error));
    else request?.resolve(message.ok);
  }

  function onDisconnect() {
    if (isLost) return;
    isLost = true;
    for (const { reject } of waiting.values()) reject(new KeeperLost());
    waiting.clear();
    onLost();
  }

  /** Ignores a failed send, because the 'disconnect' handler deals with the loss of the keeper. */
  const ignoreSendError = () => {};

  /**
   * @param {string} verb
   * @param {object} params
   * @param {Waiting} answer
   * @param {unknown} [handle]
   */
  function send(verb, params, answer, handle) {
    const id = nextId++;
    waiting.set(id, answer);
    port.send({ v: VERSION, id, verb, params }, handle, {}, ignoreSendError);
  }

  port.on('message', onMessage);
  port.on('disconnect', onDisconnect);
  // If the keeper exited before this link existed, calls onDisconnect(), because Node.js will not
  // emit 'disconnect'.
  if (port.connected === false) queueMicrotask(onDisconnect);
  return {
    request(verb, params, handle) {
      if (isLost) return Promise.reject(new KeeperLost());
      return new Promise((resolve, reject) => send(verb, params, { resolve, reject }, handle));
    },
    requestInOrder(verb, params, onAnswer, onRefused = () => {}) {
      const reject = (/** @type {Error} */ error) => void (error instanceof KeeperRefusal && onRefused(error));
      if (!isLost) send(verb, params, { resolve: onAnswer, reject });
    },
    announce(event, data) {
      if (!isLost) port.send({ v: VERSION, event, data }, undefined, {}, ignoreSendError);
    },
    heard: () => heard,
    isWaiting: () => waiting.size > 0,
    close() {
      port.off('message', onMessage);
      port.off('disconnect', onDisconnect);
    },
  };
}
