import { connect, constants } from 'node:http2';
import { judgeJson, judgeStatus } from './exchange.js';
import { openSocket, trusted, unanswered } from './target.js';

/** @import { ClientHttp2Session as Session } from 'node:http2' */
/** @import { Outcome } from '../ledger.js' */
/** @import { OpenClient } from './kinds.js' */

const ATTEMPTS = 5;

/**
 * Sends three streams at once, one of them slow. After a GOAWAY, sends unprocessed streams again
 * on the next session, as every HTTP/2 client does, and notes that.
 * @type {OpenClient}
 */
export function openHttp2(address, { timeoutMs, slowMs: [slowMs] }) {
  /** @type {Session | undefined} */
  let session;
  /** @type {Error | undefined} */
  let sessionError;
  /** The last stream that the server processes, according to GOAWAY. */
  let lastStreamId = Infinity;

  /**
   * @param {string} path
   * @returns {Promise<Outcome>}
   */
  async function send(path) {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const outcome = await sendOn(currentSession(), path, {
        timeoutMs: timeoutMs + slowMs,
        sessionError: () => sessionError,
        isUntouched: (id = Infinity) => id > lastStreamId,
      });
      if (outcome) return attempt === 0 ? outcome : { ...outcome, note: 'sent again after GOAWAY' };
    }
    return { bucket: 'refused', detail: `${ATTEMPTS} sessions in a row ended before they took the stream` };
  }

  function currentSession() {
    if (session && !session.closed && !session.destroyed) return session;
    sessionError = undefined;
    lastStreamId = Infinity;
    session = connect(`${address.isTls ? 'https' : 'http'}://localhost`, {
      ca: trusted(),
      createConnection: () => openSocket(address, { ALPNProtocols: ['h2'] }),
    });
    session.on('error', (error) => (sessionError = error));
    session.on('goaway', (code, last) => (lastStreamId = last));
    return session;
  }

  return {
    async one() {
      const outcomes = await Promise.all([send(address.path), send(address.path), send(`/slow?ms=${slowMs}`)]);
      // Destroys the session only now, because this resets streams that still wait.
      if (outcomes.some(({ bucket }) => bucket === 'hung')) session?.destroy();
      return outcomes;
    },
    close: () => session?.destroy(),
  };
}

/**
 * @param {Session} session
 * @param {string} path
 * @param {object} o
 * @param {number} o.timeoutMs
 * @param {() => Error | undefined} o.sessionError
 * @param {(id: number | undefined) => boolean} o.isUntouched  `id`: undefined if the stream was
 *   never sent.
 * @returns {Promise<Outcome | null>}  null if the server did not process the stream.
 */
function sendOn(session, path, { timeoutMs, sessionError, isUntouched }) {
  return new Promise((resolve) => {
    const stream = session.request({ ':path': path });
    let status = 0;
    /** @type {Buffer[]} */
    const chunks = [];
    let isWhole = false;
    const timer = setTimeout(() => {
      finish({
        bucket: 'hung',
        detail: `no end of ${path} after ${timeoutMs} ms, ${status ? 'headers came' : 'no headers'}`,
      });
    }, timeoutMs);
    /** @param {Outcome | null} outcome */
    function finish(outcome) {
      clearTimeout(timer);
      resolve(outcome);
    }
    stream.on('response', (headers) => (status = Number(headers[':status'])));
    stream.on('data', (chunk) => chunks.push(chunk));
    stream.on('end', () => (isWhole = true));
    /** @type {Error | undefined} */
    let failure;
    stream.on('error', (error) => (failure = error));
    // Waits one turn, because the error of the session has more detail and comes after the error of
    // the stream.
    stream.on('close', () =>
      setImmediate(() => {
        // RFC 9113, 6.8: a stream above the number in GOAWAY may be sent again.
        if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM || (!status && isUntouched(stream.id))) finish(null);
        else if (isWhole && status && stream.rstCode === constants.NGHTTP2_NO_ERROR)
          finish(judgeStatus(status, Buffer.concat(chunks), judgeJson));
        else
          finish(
            status
              ? { bucket: 'truncated', detail: failure?.message ?? `closed with ${stream.rstCode}` }
              : unanswered(sessionError() ?? failure ?? new Error(`closed with ${stream.rstCode}`)),
          );
      }),
    );
    stream.end();
  });
}
