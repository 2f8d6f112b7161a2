import { setImmediate } from 'node:timers/promises';
import { judgeJson } from './exchange.js';
import { openSocket, unanswered } from './target.js';

/** @import { Socket } from 'node:net' */
/** @import { Outcome } from '../ledger.js' */
/** @import { OpenClient } from './kinds.js' */

/**
 * Reconnects if the connection ends between two lines. Sends no line twice: a line without an
 * answer counts as lost.
 * @type {OpenClient}
 */
export function openLines(address, { timeoutMs }) {
  /** @type {Socket | undefined} */
  let socket;

  async function one() {
    // Waits one turn, so that the event loop notices a connection that ended during the last pause.
    await setImmediate();
    const isFresh = !socket || socket.destroyed || socket.readableEnded;
    const current = isFresh ? openSocket(address).on('error', () => {}) : /** @type {Socket} */ (socket);
    socket = current;
    const outcome = await say(current, timeoutMs);
    if (outcome.bucket !== 'ok') current.destroy();
    return outcome.bucket === 'ok' || isFresh
      ? outcome
      : { ...outcome, detail: `${outcome.detail} on a connection used before` };
  }

  return { one, close: () => void socket?.destroy() };
}

/**
 * @param {Socket} socket
 * @param {number} timeoutMs
 * @returns {Promise<Outcome>}
 */
function say(socket, timeoutMs) {
  return new Promise((resolve) => {
    let text = '';
    /** @type {Record<string, (given: any) => void>} */
    const listeners = {
      data(chunk) {
        text = `${text}${chunk}`.replace(/^[^{].*\n/, '');
        if (text.endsWith('\n')) finish(judgeJson(Buffer.from(text)));
      },
      end: onGone,
      close: onGone,
      error: (error) => finish(unanswered(error)),
    };
    const late = setTimeout(() => finish({ bucket: 'hung', detail: `no whole line after ${timeoutMs} ms` }), timeoutMs);

    function onGone() {
      finish(
        text === ''
          ? { bucket: 'reset', detail: 'ended in place of an answer' }
          : { bucket: 'truncated', detail: `ended after "${text}"` },
      );
    }
    /** @param {Outcome} outcome */
    function finish(outcome) {
      clearTimeout(late);
      for (const [event, listener] of Object.entries(listeners)) socket.off(event, listener);
      // Continues to read, so that the client notices an end of the connection between two lines.
      socket.resume();
      resolve(outcome);
    }
    for (const [event, listener] of Object.entries(listeners)) socket.on(event, listener);
    socket.write('hello\n');
  });
}
