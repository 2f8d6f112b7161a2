import { parseLine } from '../../../lib/shared/wire/rpc.js';

/** @import { WebSocket } from 'ws' */

/** How long somebody has for it, in ms. */
const TOKEN_MS = 5_000;

/** What a browser is told that has not the right token. */
export const NOT_AUTHENTICATED = 4401;

/**
 * Waits for the first message of a connection, which has to hold the token. Until then nothing else is answered.
 * @param {WebSocket} ws
 * @param {object} o
 * @param {(given: unknown) => boolean} o.isRight
 * @param {import('../host/clock.js').Clock} o.clock
 * @param {(id: string|number) => void} o.onRight  With the id of the request, which is not answered yet.
 * @param {() => void} o.onWrong  There was no token in time, or another one. Not called when it has left by itself.
 */
export function askForToken(ws, { isRight, clock, onRight, onWrong }) {
  const cancel = clock.after(TOKEN_MS, () => {
    ws.off('message', onFirst);
    onWrong();
  });

  /** @param {import('ws').RawData} data */
  function onFirst(data) {
    cancel();
    const parsed = parseLine(String(data));
    const { id, method, params } = 'message' in parsed ? parsed.message : {};
    if (method === 'authenticate' && id !== undefined && id !== null && isRight(params?.token)) onRight(id);
    else onWrong();
  }

  ws.once('message', onFirst);
  ws.once('close', cancel);
}
