import { hostname } from 'node:os';

/** @import { Family, Point } from './families.js' */

const CUMULATIVE = 2;

/** The names of our units in UCUM. */
const UNITS = { '': '1', ratio: '1', seconds: 's', bytes: 'By' };

/**
 * Builds a request to a collector as JSON: https://opentelemetry.io/docs/specs/otlp/
 * @param {Family[]} families
 * @param {{ version: string, atMs: number }} o
 */
export function toOtlp(families, { version, atMs }) {
  // Sends no start time, because a new start time would mean that the sums begin again. The sums
  // outlive this process.
  const times = { timeUnixNano: nanoseconds(atMs) };
  return {
    resourceMetrics: [
      {
        resource: {
          attributes: buildAttributes({
            'service.name': 'nclust',
            'service.version': version,
            'host.name': hostname(),
          }),
        },
        scopeMetrics: [
          {
            scope: { name: 'nclust', version },
            metrics: families.map((family) => ({
              name: family.name,
              description: family.help,
              unit: UNITS[family.unit],
              ...buildData(family, times),
            })),
          },
        ],
      },
    ],
  };
}

/**
 * @param {Family} family
 * @param {{ timeUnixNano: string }} times
 */
function buildData({ type, points }, times) {
  const dataPoints = points.map((point) => ({
    attributes: buildAttributes(point.labels),
    ...times,
    ...toValue(point),
  }));
  if (type === 'gauge') return { gauge: { dataPoints } };
  return type === 'counter'
    ? { sum: { aggregationTemporality: CUMULATIVE, isMonotonic: true, dataPoints } }
    : { histogram: { aggregationTemporality: CUMULATIVE, dataPoints } };
}

/** @param {Point} point */
function toValue(point) {
  if ('value' in point) return { asDouble: point.value };
  // Whole numbers of 64 bits are strings in this JSON.
  return {
    count: String(point.counts.reduce((sum, count) => sum + count, 0)),
    sum: point.sum,
    bucketCounts: point.counts.map(String),
    explicitBounds: point.bounds,
  };
}

/** @param {Record<string, string>} labels */
function buildAttributes(labels) {
  return Object.entries(labels).map(([key, value]) => ({ key, value: { stringValue: value } }));
}

/** @param {number} ms */
function nanoseconds(ms) {
  return `${Math.round(ms)}000000`;
}

/** Limit of waiting requests. Sums are cumulative, so a dropped request costs only resolution. */
const QUEUE_MAX = 12;
const QUEUE_MAX_BYTES = 4 * 1024 * 1024;
const TIMEOUT_MS = 5_000;

/** Statuses to retry: https://opentelemetry.io/docs/specs/otlp/#failures-1 */
const AGAIN = new Set([429, 502, 503, 504]);

/**
 * @typedef {object} OtlpSender
 * @property {(body: string) => Promise<void>} send  Sends `body` after the waiting requests. Never
 *   rejects.
 * @property {() => string | null} problem  Why the last request failed. Null: no failure.
 * @property {() => number} lost  Number of requests that were dropped, or refused for good.
 * @property {() => void} close
 */

/**
 * @param {string} url
 * @param {typeof fetch} [ask]
 * @returns {OtlpSender}
 */
export function createOtlpSender(url, ask = fetch) {
  /** @type {string[]} */
  const queue = [];
  const closed = new AbortController();
  /** @type {string | null} */
  let problem = null;
  let lost = 0;
  let isSending = false;

  /**
   * @param {string} body
   * @returns {Promise<boolean>}  Whether the request is finished: accepted, or refused for good.
   */
  async function post(body) {
    try {
      const response = await ask(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
        redirect: 'error',
        signal: AbortSignal.any([closed.signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      await response.arrayBuffer();
      problem = response.ok ? null : `it answers with status ${response.status}`;
      const isFinished = !AGAIN.has(response.status);
      if (isFinished && !response.ok) lost += 1;
      return isFinished;
    } catch (error) {
      const { name, message, cause } = /** @type {Error & { cause?: { code?: string } }} */ (error);
      problem =
        name === 'TimeoutError'
          ? `it did not answer within ${TIMEOUT_MS / 1000} s`
          : `it cannot be reached (${cause?.code ?? message})`;
      return false;
    }
  }

  return {
    async send(body) {
      queue.push(body);
      while (queue.length > QUEUE_MAX || (queue.length > 1 && measureSize(queue) > QUEUE_MAX_BYTES)) {
        queue.shift();
        lost += 1;
      }
      if (isSending) return;
      isSending = true;
      for (let next = queue[0]; next !== undefined && (await post(next)); next = queue[0])
        if (queue[0] === next) queue.shift();
      isSending = false;
    },
    problem: () => problem,
    lost: () => lost,
    close: () => closed.abort(),
  };
}

/** @param {string[]} texts */
function measureSize(texts) {
  return texts.reduce((sum, { length }) => sum + length, 0);
}
