/** @import { IncomingMessage, ServerResponse } from 'node:http' */
/** @import { Socket } from 'node:net' */

const WAITING_MAX = 32;

/**
 * Never throws. Each connection gets one answer at a time, because an unknown client can send
 * thousands of requests in one packet, and each may open a file. If more than WAITING_MAX requests
 * wait, closes the connection. After the end of a connection, its waiting requests get no answer,
 * because their responses would never emit 'close': Node.js emits 'close' only for the response
 * that has the socket.
 * @param {(request: IncomingMessage, response: ServerResponse) => unknown} answer
 * @param {(error: Error, request: IncomingMessage, response: ServerResponse) => void} onFault
 *   Reports an error of `answer`, and ends the response.
 * @returns {(request: IncomingMessage, response: ServerResponse) => void}
 */
export function answerInTurn(answer, onFault) {
  /** @type {WeakMap<Socket, number>} */
  const waiting = new WeakMap();

  /**
   * @param {IncomingMessage} request
   * @param {ServerResponse} response
   */
  async function begin(request, response) {
    if (request.socket.destroyed) return;
    try {
      await answer(request, response);
    } catch (error) {
      onFault(error instanceof Error ? error : new Error(String(error)), request, response);
    }
  }

  return (request, response) => {
    if (response.socket) return void begin(request, response);
    const { socket } = request;
    const count = (waiting.get(socket) ?? 0) + 1;
    if (count > WAITING_MAX) return void socket.destroy();
    waiting.set(socket, count);
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      // Waits for the next tick, because Node.js flushes the response right after this event.
      process.nextTick(begin, request, response);
    });
    return undefined;
  };
}
