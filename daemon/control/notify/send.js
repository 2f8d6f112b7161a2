import { request as requestHttp, STATUS_CODES } from 'node:http';
import { request as requestHttps } from 'node:https';
import { runAsUser } from '../../../lib/shared/host/run-as-user.js';
import { isWebAddress, parseReceiver, recognizeService } from '../../../lib/shared/settings/receiver.js';
import { shortNotice } from '../../../lib/shared/without-secrets.js';
import { readWhole } from '../host/read-bounded.js';
import { toBody, toMail } from './services.js';

/** @import { IncomingMessage } from 'node:http' */
/** @import { Receiver, Service } from '../../../lib/shared/settings/receiver.js' */
/** @import { Clock } from '../host/clock.js' */
/** @import { Message } from './message.js' */

/** For a whole attempt. */
const TIMEOUT_MS = 10_000;

const OUTPUT_MAX_BYTES = 1024 * 1024;
const ADDRESS_FILE_MAX_BYTES = 16 * 1024;

const RETRY_AFTER_MAX_MS = 3_600_000;

/** The receiver refuses this message, and would do so again. */
const REFUSALS = [400, 413, 415, 422];

/**
 * @typedef {object} Failure
 * @property {string} reason  Without secrets. Follows "because ".
 * @property {boolean} [isRefused]
 * @property {number | null} [retryAfterMs]  The receiver asks for this pause.
 */

/**
 * @param {string} to
 * @param {Message} message
 * @param {Clock} clock
 * @returns {Promise<Failure | null>}  Null: the receiver has taken the message. Never rejects.
 */
export async function send(to, message, clock) {
  const receiver = /** @type {Receiver} */ (parseReceiver(to));
  try {
    if (receiver.kind === 'exec')
      return await run('the command', ['/bin/sh', '-c', receiver.command], JSON.stringify(message), clock);
    if (receiver.kind === 'mail')
      return await run('sendmail', ['sendmail', '-t', '-i'], toMail(message, receiver.address), clock);
    const url = receiver.kind === 'file' ? await readAddress(receiver.path, clock) : receiver.url;
    if (typeof url !== 'string') return url;
    return await post(url, toBody(receiver.service ?? recognizeService(url), message), clock);
  } catch (error) {
    const { code, message: text } = /** @type {NodeJS.ErrnoException} */ (error);
    return { reason: `it cannot be reached (${code ?? shortNotice(text)})` };
  }
}

/**
 * @param {string} path
 * @param {Clock} clock
 * @returns {Promise<string | Failure>}
 */
async function readAddress(path, clock) {
  const found = await readWhole(path, { maxBytes: ADDRESS_FILE_MAX_BYTES, clock, user: null });
  if (found.bytes === null) return { reason: `its file "${path}" ${found.fault}` };
  const url = found.bytes.toString('utf8').split('\n', 1)[0].trim();
  return isWebAddress(url) ? url : { reason: `the first line of its file "${path}" is not an http(s) address` };
}

/**
 * @param {string} url
 * @param {string} body
 * @param {Clock} clock
 * @returns {Promise<Failure | null>}
 */
function post(url, body, clock) {
  return new Promise((resolve) => {
    const start = url.startsWith('http:') ? requestHttp : requestHttps;
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'nclust',
    };
    const request = start(url, { method: 'POST', agent: false, headers });
    /** @param {Failure | null} outcome */
    const end = (outcome) => {
      cancel();
      request.destroy();
      resolve(outcome);
    };
    const cancel = clock.after(TIMEOUT_MS, () => end({ reason: `it did not answer within ${TIMEOUT_MS / 1_000}s` }));
    request.on('error', (/** @type {NodeJS.ErrnoException} */ { code, message }) =>
      end({ reason: `it cannot be reached (${code ?? shortNotice(message)})` }),
    );
    request.on('response', (response) => {
      const { statusCode = 0 } = response;
      end(statusCode >= 200 && statusCode < 300 ? null : describeRefusal(response));
    });
    request.end(body);
  });
}

/**
 * Leaves out the words of the answer: many servers repeat the address, which is a secret.
 * @param {IncomingMessage} response
 * @returns {Failure}
 */
function describeRefusal({ statusCode = 0, headers }) {
  const name = STATUS_CODES[statusCode];
  const redirect = statusCode >= 300 && statusCode < 400 ? ', and redirects are not followed' : '';
  return {
    reason: `it answers with status ${statusCode}${name ? ` (${name})` : ''}${redirect}`,
    isRefused: REFUSALS.includes(statusCode),
    retryAfterMs: readRetryAfter(headers['retry-after']),
  };
}

/** @param {string | undefined} text  Seconds. */
function readRetryAfter(text) {
  return /^\d+(\.\d+)?$/.test(text ?? '') ? Math.min(Number(text) * 1_000, RETRY_AFTER_MAX_MS) : null;
}

/**
 * Runs the program as the user of the manager.
 * @param {string} what
 * @param {string[]} command
 * @param {string} input
 * @param {Clock} clock
 * @returns {Promise<Failure | null>}
 */
async function run(what, [file, ...args], input, clock) {
  const { code, signal, exceeded } = await runAsUser({ uid: null, gid: null }, file, args, {
    env: { ...process.env, PATH: `${process.env.PATH ?? '/usr/bin:/bin'}:/usr/sbin:/usr/lib` },
    timeoutMs: TIMEOUT_MS,
    maxBytes: OUTPUT_MAX_BYTES,
    input,
    after: clock.after,
  });
  if (exceeded === 'time') return { reason: `${what} did not exit within ${TIMEOUT_MS / 1_000}s` };
  if (exceeded === 'bytes') return { reason: `${what} wrote more than ${OUTPUT_MAX_BYTES / 1024} KiB` };
  if (signal !== null) return { reason: `${what} was killed by ${signal}` };
  return code === 0 ? null : { reason: `${what} exited with code ${code}` };
}
