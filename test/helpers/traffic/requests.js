import { createHash, randomBytes } from 'node:crypto';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { exchange, judgeJson } from './exchange.js';
import { createRandom } from '../random.js';
import { pause } from '../wait-for.js';

/** @import { Agent, ClientRequest } from 'node:http' */
/** @import { Outcome } from '../ledger.js' */
/** @import { Client, OpenClient } from './kinds.js' */
/** @import { Address } from './target.js' */

const PATTERN = Buffer.from(Array.from({ length: 251 * 64 }, (_, i) => i % 251));
const PARTS = 10;
const PART_BYTES = 20_000;
/** The seed is fixed, but timing decides which client gets which duration. */
const random = createRandom(1);

/** @type {OpenClient} */
export const openOneShot = (address, { timeoutMs }) => ({
  one: () => exchange(address, { agent: false, path: address.path, timeoutMs }),
  close() {},
});

/**
 * A request that fails on an idle connection is not sent again, as with the agent of node:http.
 * @type {OpenClient}
 */
export const openKeepAlive = (address, { timeoutMs }) =>
  withAgent(address, (agent) => exchange(address, { agent, path: address.path, timeoutMs }));

/** @type {OpenClient} */
export const openSlow = (address, { timeoutMs, slowMs: [fromMs, toMs] }) =>
  withAgent(address, (agent) => {
    const ms = Math.round(fromMs + random() * (toMs - fromMs));
    return exchange(address, { agent, path: `/slow?ms=${ms}`, timeoutMs: timeoutMs + ms });
  });

/** @type {OpenClient} */
export const openUpload = (address, { timeoutMs, transferMs: aboutMs }) =>
  withAgent(address, (agent) => {
    const transferMs = around(aboutMs);
    const parts = Array.from({ length: PARTS }, () => randomBytes(PART_BYTES));
    const sha1 = createHash('sha1').update(Buffer.concat(parts)).digest('hex');
    return exchange(address, {
      agent,
      path: '/upload',
      method: 'POST',
      timeoutMs: timeoutMs + transferMs,
      write: (request) => void sendParts(request, parts, transferMs),
      judge: (body) =>
        body.toString().includes(sha1) ? judgeJson(body) : { bucket: 'wrong', detail: body.toString('utf8', 0, 100) },
    });
  });

/** @type {OpenClient} */
export const openDownload = (address, { timeoutMs, transferMs: aboutMs }) =>
  withAgent(address, (agent) => {
    const transferMs = around(aboutMs);
    return exchange(address, {
      agent,
      path: `/download?chunks=${PARTS}&ms=${transferMs}`,
      timeoutMs: timeoutMs + transferMs,
      judge: (body, headers) =>
        isPattern(body)
          ? { bucket: 'ok', detail: '', pid: Number(headers['x-pid']) }
          : { bucket: 'wrong', detail: `${body.length} bytes, and not the right ones` },
    });
  });

/**
 * Varies the time, because clients that start together must not end together. Otherwise a short
 * fault would hit all clients or none of them.
 * @param {number} ms
 */
function around(ms) {
  return Math.round(ms * (0.75 + random() / 2));
}

/**
 * @param {Address} address
 * @param {(agent: Agent) => Promise<Outcome>} one
 * @returns {Client}
 */
function withAgent({ isTls }, one) {
  const agent = new (isTls ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: 1 });
  return { one: () => one(agent), close: () => agent.destroy() };
}

/**
 * @param {ClientRequest} request
 * @param {Buffer[]} parts
 * @param {number} overMs
 */
async function sendParts(request, parts, overMs) {
  for (const part of parts) {
    if (request.destroyed) return;
    request.write(part);
    await pause(overMs / parts.length);
  }
  request.end();
}

/** @param {Buffer} body */
function isPattern(body) {
  return (
    body.length === PARTS * PATTERN.length &&
    Array.from({ length: PARTS }, (_, i) => body.subarray(i * PATTERN.length, (i + 1) * PATTERN.length)).every((part) =>
      part.equals(PATTERN),
    )
  );
}
