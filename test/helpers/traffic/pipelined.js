import { judgeJson, judgeStatus } from './exchange.js';
import { openSocket, unanswered } from './target.js';

/** @import { Socket } from 'node:net' */
/** @import { Outcome } from '../ledger.js' */
/** @import { OpenClient } from './kinds.js' */
/** @import { Address } from './target.js' */

const AT_ONCE = 4;

/**
 * A server that announces `Connection: close` processes nothing after that answer (RFC 9112, 9.6),
 * so the client sends the rest again on another connection. After a close without this
 * announcement, the missing answers count as lost.
 * @type {OpenClient}
 */
export function openPipelined(address, { timeoutMs }) {
  /** @type {Socket | undefined} */
  let socket;

  async function one() {
    /** @type {Outcome[]} */
    const outcomes = [];
    let isAgain = false;
    while (outcomes.length < AT_ONCE) {
      const isFresh = !isUsable(socket);
      const current = isUsable(socket) ? socket : openSocket(address);
      socket = current;
      const { answers, failure } = await batch(current, AT_ONCE - outcomes.length, { address, timeoutMs });
      outcomes.push(
        ...answers.map((answer) => ({
          ...answer,
          ...(isAgain ? { note: 'sent again after an announced close' } : {}),
        })),
      );
      isAgain = failure === null;
      if (failure)
        outcomes.push(
          ...Array.from({ length: AT_ONCE - outcomes.length }, () => ({
            ...failure,
            detail: `${failure.detail}${isFresh ? '' : ' on a connection used before'}`,
          })),
        );
    }
    return outcomes;
  }

  return { one, close: () => void socket?.destroy() };
}

/**
 * @param {Socket | undefined} socket
 * @returns {socket is Socket}
 */
function isUsable(socket) {
  return socket !== undefined && !socket.destroyed && !socket.readableEnded && socket.writable;
}

/**
 * @param {Socket} socket
 * @param {number} count
 * @param {{ address: Address, timeoutMs: number }} o
 * @returns {Promise<{ answers: Outcome[], failure: Outcome | null }>}  If `failure` is null and
 *   there are fewer answers than `count`, the server has announced the close.
 */
function batch(socket, count, { address, timeoutMs }) {
  return new Promise((resolve) => {
    /** @type {Outcome[]} */
    const answers = [];
    let rest = Buffer.alloc(0);
    const timer = setTimeout(
      () => finish({ bucket: 'hung', detail: `${answers.length} of ${count} answers after ${timeoutMs} ms` }),
      timeoutMs,
    );

    /** @param {Outcome | null} failure */
    function finish(failure) {
      clearTimeout(timer);
      socket
        .removeAllListeners('data')
        .removeAllListeners('end')
        .removeAllListeners('close')
        .removeAllListeners('error');
      // Ignores an error between two batches, because the error closes the connection, and the next
      // batch opens another connection.
      socket.on('error', () => {});
      if (failure || answers.length < count) socket.destroy();
      resolve({ answers, failure });
    }
    const onGone = () =>
      finish(
        rest.length > 0
          ? { bucket: 'truncated', detail: 'closed in the middle of an answer' }
          : { bucket: 'reset', detail: `closed after ${answers.length} of ${count} answers` },
      );
    socket.on('error', (error) => finish(unanswered(error)));
    socket.on('end', onGone);
    socket.on('close', onGone);
    socket.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (let parsed = readAnswer(rest); parsed; parsed = readAnswer(rest)) {
        rest = rest.subarray(parsed.bytes);
        answers.push(parsed.outcome);
        if (answers.length === count && parsed.isLast) socket.destroy();
        if (answers.length === count || parsed.isLast) return finish(null);
      }
    });
    socket.write(`GET ${address.path} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(count));
  });
}

/**
 * @param {Buffer} buffer
 * @returns {{ bytes: number, outcome: Outcome, isLast: boolean } | null}
 */
function readAnswer(buffer) {
  const headEnd = buffer.indexOf('\r\n\r\n');
  if (headEnd === -1) return null;
  const head = buffer.toString('latin1', 0, headEnd);
  const bytes = headEnd + 4 + Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
  if (buffer.length < bytes) return null;
  const outcome = judgeStatus(Number(head.split(' ')[1]), buffer.subarray(headEnd + 4, bytes), judgeJson);
  return { bytes, outcome, isLast: /^connection: *close/im.test(head) };
}
