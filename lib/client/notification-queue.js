/** @import { RpcMessage } from '../shared/wire/rpc.js' */

/** Above one of these limits, the client stops reading. The server then drops lines. */
const MAX_MESSAGES = 256;
const MAX_CHARS = 1024 * 1024;

/**
 * Messages that wait for their only reader.
 * @typedef {object} Inbox
 * @property {(message: RpcMessage, chars: number) => void} push
 * @property {() => RpcMessage | undefined} take
 * @property {() => boolean} isFull
 * @property {() => Promise<void>} nudge  Resolves with the next push, or with wake().
 * @property {() => void} wake
 */

/** @returns {Inbox} */
export function createInbox() {
  /** @type {{ message: RpcMessage, chars: number }[]} */
  const waiting = [];
  let chars = 0;
  let wake = () => {};

  return {
    push(message, size) {
      waiting.push({ message, chars: size });
      chars += size;
      wake();
    },
    take() {
      const next = waiting.shift();
      chars -= next?.chars ?? 0;
      return next?.message;
    },
    isFull: () => waiting.length > MAX_MESSAGES || chars > MAX_CHARS,
    nudge: () =>
      new Promise((resolve) => {
        wake = resolve;
      }),
    wake: () => wake(),
  };
}
