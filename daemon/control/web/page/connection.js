/** @typedef {'connecting' | 'live' | 'lost' | 'refused'} Phase  refused: the token is wrong. */

/**
 * @typedef {{ version: string, home: string, host: string, mayAct: boolean, pollMs: number }}
 *   Welcome
 */

/**
 * A subscription that is repeated over every new connection.
 * @typedef {object} Follow
 * @property {string} method
 * @property {() => object} params  Called for every connection.
 * @property {(result: any) => void} [onAnswer]
 * @property {(params: any) => void} [onNews]
 * @property {(error: Refusal) => void} [onRefusal]
 */

/**
 * @typedef {object} Request
 * @property {string} method
 * @property {any} params
 * @property {(result: any) => void} resolve
 * @property {(error: Error) => void} reject
 */

/**
 * @typedef {object} Clock
 * @property {(run: () => void, ms: number) => any} set
 * @property {(timer: any) => void} clear
 * @property {() => number} now
 */

export class Refusal extends Error {
  /** @param {{ message: string, data?: { code?: string, hint?: string } }} error */
  constructor({ message, data }) {
    super(message);
    this.code = data?.code ?? null;
    this.hint = data?.hint ?? null;
  }
}

const WRONG_TOKEN = 4401;

/** WebSocket.OPEN. */
const OPEN = 1;

/** Pauses between attempts, in ms. The last pause repeats. */
const PAUSES_MS = [250, 1_000, 1_000, 2_000, 5_000];

/** A sample comes every second. Without a sample for this time, in ms, the connection is dead. */
const SILENCE_MS = 10_000;

/**
 * After a lost connection, sends again each unanswered request that has a token. Because of the
 * token, the manager carries out the request only once.
 * @param {object} o
 * @param {() => WebSocket} o.open
 * @param {string} o.token
 * @param {(phase: Phase, welcome: Welcome | null) => void} o.onPhase
 * @param {Clock} o.clock
 */
export function createConnection({ open, token, onPhase, clock }) {
  /** @type {WebSocket | null} */
  let socket = null;
  /** @type {Phase | 'closed'} */
  let phase = 'connecting';
  let attempts = 0;
  let lastId = 0;
  let heardAt = 0;
  /** @type {any} */
  let timer = null;
  /** @type {Map<number, Request>} */
  const pending = new Map();
  /** @type {Map<string, Follow>} */
  const follows = new Map();
  /** By token. @type {Map<string, (params: any) => void>} */
  const progress = new Map();

  connect();
  return { request, follow, hurry, close, isLive: () => phase === 'live' };

  function connect() {
    clock.clear(timer);
    const own = (socket = open());
    own.onopen = () => own.send(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'authenticate', params: { token } }));
    own.onmessage = ({ data }) => {
      if (own === socket) hear(JSON.parse(data));
    };
    own.onclose = ({ code }) => {
      if (own === socket) lose(code);
    };
    heardAt = clock.now();
    watch();
  }

  function watch() {
    timer = clock.set(() => {
      if (clock.now() - heardAt < SILENCE_MS) return watch();
      socket?.close();
      return lose(0);
    }, 1_000);
  }

  /** @param {any} message */
  function hear({ id, method, params, result, error }) {
    heardAt = clock.now();
    if (method === 'progress') return progress.get(params.token)?.(params);
    if (method !== undefined) return follows.get(params?.subscription)?.onNews?.(params);
    if (id === 0) return error ? lose(WRONG_TOKEN) : begin(result);
    const request = pending.get(id);
    pending.delete(id);
    return error ? request?.reject(new Refusal(error)) : request?.resolve(result);
  }

  /** @param {Welcome} welcome */
  function begin(welcome) {
    attempts = 0;
    phase = 'live';
    onPhase(phase, welcome);
    for (const [id, { method, params }] of pending) send(id, method, params);
    for (const [name, one] of follows) start(name, one);
  }

  /** @param {number} code */
  function lose(code) {
    clock.clear(timer);
    socket = null;
    for (const [id, { params, reject }] of pending) {
      if (params.token && code !== WRONG_TOKEN) continue;
      pending.delete(id);
      reject(new Error('The connection was lost.'));
    }
    if (phase === 'closed') return;
    phase = code === WRONG_TOKEN ? 'refused' : 'lost';
    if (phase === 'lost') timer = clock.set(connect, PAUSES_MS[Math.min(attempts++, PAUSES_MS.length - 1)]);
    onPhase(phase, null);
  }

  /**
   * @param {number} id
   * @param {string} method
   * @param {any} params
   */
  function send(id, method, params) {
    // If the connection is closing, lose() will handle the request.
    if (socket?.readyState === OPEN) socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  }

  /**
   * @param {string} method
   * @param {any} [params]
   * @param {(progress: any) => void} [onProgress]
   * @returns {Promise<any>}  Rejects with a Refusal, or if the page is not connected. If the
   *   connection is lost later, a request with a token waits for the next connection.
   */
  async function request(method, params = {}, onProgress) {
    if (phase !== 'live') throw new Error('There is no connection to the manager.');
    const id = ++lastId;
    if (onProgress) progress.set(params.token, onProgress);
    try {
      return await new Promise((resolve, reject) => {
        pending.set(id, { method, params, resolve, reject });
        send(id, method, params);
      });
    } finally {
      if (onProgress) progress.delete(params.token);
    }
  }

  /**
   * @param {string} name
   * @param {Follow} one
   */
  function start(name, one) {
    request(one.method, { ...one.params(), subscription: name })
      .then((result) => {
        if (follows.get(name) === one) one.onAnswer?.(result);
      })
      // Ignores a lost connection, because the next connection starts all subscriptions again.
      .catch((error) => {
        if (error instanceof Refusal && follows.get(name) === one) one.onRefusal?.(error);
      });
  }

  /**
   * @param {Follow} one
   * @returns {() => void}  Ends the subscription.
   */
  function follow(one) {
    const name = `${one.method}-${++lastId}`;
    follows.set(name, one);
    if (phase === 'live') start(name, one);
    return () => {
      if (!follows.delete(name) || phase !== 'live') return;
      // Ignores a lost connection, because it has ended the subscription.
      request('unsubscribe', { subscription: name }).catch(() => {});
    };
  }

  function hurry() {
    if (phase === 'lost' && !socket) connect();
  }

  function close() {
    phase = 'closed';
    socket?.close();
    lose(0);
  }
}
