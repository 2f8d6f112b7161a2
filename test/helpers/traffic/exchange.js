import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { trusted, unanswered } from './target.js';

/** @import { Agent, ClientRequest, IncomingHttpHeaders } from 'node:http' */
/** @import { Outcome } from '../ledger.js' */
/** @import { Address } from './target.js' */

/**
 * @param {Address} address
 * @param {object} o
 * @param {Agent | false} o.agent
 * @param {string} o.path
 * @param {number} o.timeoutMs
 * @param {string} [o.method]
 * @param {(request: ClientRequest) => void} [o.write]  Sends the body and ends the request.
 * @param {(body: Buffer, headers: IncomingHttpHeaders) => Outcome} [o.judge]  Called only for an
 *   answer with status 200.
 * @returns {Promise<Outcome>}
 */
export function exchange(
  { isTls, host, port, socketPath },
  { agent, path, timeoutMs, method = 'GET', write = (one) => one.end(), judge = judgeJson },
) {
  return new Promise((resolve) => {
    let isAnswered = false;
    const request = (isTls ? requestHttps : requestHttp)({
      host,
      port,
      socketPath,
      path,
      method,
      agent,
      ...(isTls ? { ca: trusted(), servername: 'localhost' } : {}),
    });
    const timer = setTimeout(() => {
      finish({
        bucket: 'hung',
        detail:
          `no end of ${method} ${path} after ${timeoutMs} ms, ` +
          `${isAnswered ? 'headers came' : 'no headers'}${request.reusedSocket ? ', on a connection used before' : ''}`,
      });
      request.destroy();
    }, timeoutMs);
    /** @param {Outcome} outcome */
    function finish(outcome) {
      clearTimeout(timer);
      resolve(outcome);
    }
    request.on('response', (response) => {
      isAnswered = true;
      /** @type {Buffer[]} */
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () =>
        finish(judgeStatus(response.statusCode ?? 0, Buffer.concat(chunks), (body) => judge(body, response.headers))),
      );
      response.on('error', (error) => finish({ bucket: 'truncated', detail: error.message }));
    });
    request.on('error', (error) => {
      const outcome = unanswered(error);
      const detail = `${outcome.detail}${request.reusedSocket ? ' on a connection used before' : ''}`;
      finish({ bucket: isAnswered ? 'truncated' : outcome.bucket, detail });
    });
    write(request);
  });
}

/**
 * @param {number} status
 * @param {Buffer} body
 * @param {(body: Buffer) => Outcome} judge
 * @returns {Outcome}
 */
export function judgeStatus(status, body, judge) {
  return status === 200 ? judge(body) : { bucket: 'status', detail: `${status} ${body.toString('utf8', 0, 100)}` };
}

/**
 * @param {Buffer} body
 * @returns {Outcome}
 */
export function judgeJson(body) {
  const text = body.toString();
  try {
    const { pid } = JSON.parse(text);
    return typeof pid === 'number'
      ? { bucket: 'ok', detail: '', pid }
      : { bucket: 'wrong', detail: text.slice(0, 100) };
  } catch {
    return { bucket: 'wrong', detail: text.slice(0, 100) };
  }
}
