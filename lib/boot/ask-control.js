import { knock } from '../client/try-connect.js';
import { TO_CLIENT_MAX_BYTES } from '../shared/wire/protocol.js';
import { createLineReader, parseLine, requestLine } from '../shared/wire/rpc.js';

/**
 * Asks control for the list, once and on a connection of its own: whether it answers is the question.
 * @param {string} sock
 * @param {AbortSignal} signal  Ends the wait.
 * @returns {Promise<import('../shared/wire/protocol.js').SlotStatus[]|null>}  Null when it does not answer. Never rejects.
 */
export async function askControl(sock, signal) {
  const socket = await knock(sock, signal).catch(() => null);
  if (socket === null || socket === 'busy') return null;
  return new Promise((resolve) => {
    /** @param {string} [line] */
    const settle = (line) => {
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
      resolve(line === undefined ? null : slotsIn(line));
    };
    const onAbort = () => settle();
    signal.addEventListener('abort', onAbort, { once: true });
    const reader = createLineReader({ maxBytes: TO_CLIENT_MAX_BYTES, onLine: settle, onTooLong: () => settle() });
    socket.on('data', reader.push).on('error', () => {}).on('close', () => settle());
    socket.write(requestLine(1, 'list', {}));
  });
}

/** @param {string} line */
function slotsIn(line) {
  const parsed = parseLine(line);
  if ('fault' in parsed) return null;
  const { slots } = /** @type {{slots?: import('../shared/wire/protocol.js').SlotStatus[]}} */ (parsed.message.result ?? {});
  return slots ?? null;
}
