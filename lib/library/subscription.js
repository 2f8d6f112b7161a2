import { asNclustError } from '../shared/errors.js';

/** @typedef {import('../client/client.js').Client} Client */

/**
 * What goes on until somebody has had enough. It begins at once; what it brings waits for next(), within bounds.
 * @template T
 * @typedef {import('../index.js').Subscription<T>} Subscription
 */

/**
 * @typedef {object} Beginning
 * @property {AbortSignal} signal  Aborted when somebody has had enough.
 * @property {() => void} onReady
 * @property {(client: Client) => void} onClient  The connection it has made; the subscription closes it.
 */

/**
 * @template T
 * @param {(o: Beginning) => AsyncGenerator<T, void, void>} begin
 * @param {object} [o]
 * @param {AbortSignal} [o.signal]  Ends it, without an error.
 * @param {() => void} [o.onEnd]
 * @returns {Subscription<T>}  It keeps the program alive from the first next() until its end; `break` ends it.
 */
export function createSubscription(begin, { signal, onEnd = () => {} } = {}) {
  const over = new AbortController();
  /** @type {Client|null} */
  let client = null;
  let [isReady, isRead] = [false, false];
  /** @type {() => void} */
  let resolveReady = () => {};
  /** @type {(error: unknown) => void} */
  let onFailed = () => {};
  /** @type {Promise<void>} */
  const ready = new Promise((resolve, reject) => { [resolveReady, onFailed] = [resolve, reject]; });
  ready.catch(() => {}); // Who does not ask for it is told by next().

  const items = begin({
    signal: over.signal,
    onReady,
    onClient(opened) {
      client = opened;
      hold();
      if (over.signal.aborted) void client.close();
    },
  });
  // Begins it. What comes first is kept for the first next().
  /** @type {Promise<IteratorResult<T, undefined>>|null} */
  let first = take();
  first.catch(() => {});

  signal?.addEventListener('abort', end, { once: true });
  if (signal?.aborted) end();

  /** @returns {Promise<IteratorResult<T, undefined>>} */
  async function take() {
    try {
      const item = await items.next();
      if (item.done) end();
      return item.done ? { done: true, value: undefined } : item;
    } catch (error) {
      // Its connection was closed under it.
      if (over.signal.aborted) return { done: true, value: undefined };
      onFailed(asNclustError(error));
      end();
      throw asNclustError(error);
    }
  }

  // Until it is ready somebody may wait for that alone.
  function hold() {
    client?.hold(isRead || !isReady);
  }

  function onReady() {
    isReady = true;
    hold();
    resolveReady();
  }

  function end() {
    if (over.signal.aborted) return;
    signal?.removeEventListener('abort', end);
    over.abort();
    onReady();
    void client?.close();
    onEnd();
  }

  /** @type {Subscription<T>} */
  const self = {
    ready,
    next() {
      isRead = true;
      hold();
      const item = first ?? take();
      first = null;
      return item;
    },
    async return() {
      end();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => self,
  };
  if (Symbol.asyncDispose) Object.assign(self, { [Symbol.asyncDispose]: async () => void (await self.return()) });
  return self;
}
