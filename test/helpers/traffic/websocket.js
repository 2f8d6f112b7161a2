import { randomBytes } from 'node:crypto';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { trusted, unanswered } from './target.js';
import { CLOSE, decodeFrame, encodeFrame, TEXT } from './websocket-frames.js';

/** @import { Duplex } from 'node:stream' */
/** @import { Outcome } from '../ledger.js' */
/** @import { OpenClient } from './kinds.js' */
/** @import { Address } from './target.js' */

const SAY_EVERY_MS = 20;
const NORMAL = 1000;
const GOING_AWAY = 1001;

/**
 * A session, from the handshake to a clean close (1000 or 1001) by either side, is one request.
 * The server echoes every message.
 * @type {OpenClient}
 */
export function openWebSocket(address, { timeoutMs, sessionMs, stopping }) {
  return {
    async one() {
      const opened = await shakeHands(address, timeoutMs);
      return 'bucket' in opened ? opened : converse(opened, { timeoutMs, sessionMs, stopping });
    },
    close() {},
  };
}

/**
 * @typedef {{ socket: Duplex, head: Buffer, pid: number | undefined }} Opened
 * @param {Address} address
 * @param {number} timeoutMs
 * @returns {Promise<Opened | Outcome>}
 */
function shakeHands({ isTls, host, port, socketPath }, timeoutMs) {
  return new Promise((resolve) => {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': randomBytes(16).toString('base64'),
    };
    const request = (isTls ? requestHttps : requestHttp)({
      host,
      port,
      socketPath,
      path: '/',
      headers,
      agent: false,
      ...(isTls ? { ca: trusted(), servername: 'localhost' } : {}),
    });
    const timer = setTimeout(() => {
      resolve({ bucket: 'hung', detail: `no handshake after ${timeoutMs} ms` });
      request.destroy();
    }, timeoutMs);
    request.on('close', () => clearTimeout(timer));
    request.on('upgrade', (response, socket, head) => {
      const pid = response.headers['x-pid'];
      clearTimeout(timer);
      resolve({ socket, head, pid: pid === undefined ? undefined : Number(pid) });
    });
    request.on('response', (response) => {
      resolve({ bucket: 'status', detail: `${response.statusCode} in place of a handshake` });
      response.resume();
    });
    request.on('error', (error) => resolve(unanswered(error)));
    request.end();
  });
}

/**
 * @param {Opened} opened
 * @param {{ timeoutMs: number, sessionMs: number, stopping: AbortSignal }} o
 * @returns {Promise<Outcome>}
 */
function converse({ socket, head, pid }, { timeoutMs, sessionMs, stopping }) {
  return new Promise((resolve) => {
    let said = 0;
    let heard = 0;
    let rest = head;
    /** @type {Outcome | undefined} */
    let verdict;
    let hasSaidBye = false;
    const late = setTimeout(() => finish({ bucket: 'hung', detail: `heard ${heard} of ${said} echoes` }), timeoutMs);
    const talk = setInterval(() => {
      if (socket.writable && !hasSaidBye) socket.write(encodeFrame(TEXT, Buffer.from(String((said += 1)))));
    }, SAY_EVERY_MS);
    const goodbye = setTimeout(sayGoodbye, sessionMs);
    stopping.addEventListener('abort', sayGoodbye, { once: true });
    if (stopping.aborted) sayGoodbye();

    function sayGoodbye() {
      hasSaidBye = true;
      if (socket.writable) socket.write(encodeFrame(CLOSE, Buffer.from([NORMAL >> 8, NORMAL & 255])));
    }
    /** @param {Outcome} outcome */
    function finish(outcome) {
      for (const timer of [late, talk, goodbye]) clearTimeout(timer);
      stopping.removeEventListener('abort', sayGoodbye);
      resolve(pid === undefined ? outcome : { ...outcome, pid });
      socket.destroy();
    }
    /** @param {{ opcode: number, payload: Buffer }} frame */
    function onFrame({ opcode, payload }) {
      late.refresh();
      if (opcode === CLOSE) verdict ??= judgeClose(payload, hasSaidBye);
      if (opcode === CLOSE && !hasSaidBye && socket.writable) socket.end(encodeFrame(CLOSE, payload));
      if (opcode !== TEXT) return;
      // The ws app sends its pid as the first message, because its handshake cannot contain a pid.
      const text = payload.toString();
      if (text.startsWith('{')) pid ??= JSON.parse(text).pid;
      else if (Number(text) !== (heard += 1)) finish({ bucket: 'wrong', detail: `echo ${heard} is "${text}"` });
    }
    function read() {
      for (let frame = decodeFrame(rest); frame; frame = decodeFrame(rest)) {
        rest = rest.subarray(frame.bytes);
        onFrame(frame);
      }
    }
    socket.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      read();
    });
    socket.on('error', (error) => finish(verdict ?? { bucket: 'reset', detail: error.message }));
    socket.on('end', () =>
      finish(verdict ?? { bucket: 'reset', detail: `ended without a close frame after ${heard} of ${said} echoes` }),
    );
    socket.on('close', () => finish(verdict ?? { bucket: 'reset', detail: 'closed without a close frame' }));
    read();
  });
}

/**
 * @param {Buffer} payload
 * @param {boolean} isReply
 * @returns {Outcome}
 */
function judgeClose(payload, isReply) {
  const code = payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
  const detail = `closed with ${code} ${payload.toString('utf8', 2)}`.trim();
  if (code !== NORMAL && code !== GOING_AWAY) return { bucket: 'reset', detail };
  return { bucket: 'ok', detail, ...(isReply ? {} : { note: `${detail} by the server` }) };
}
