import { hostname } from 'node:os';

/** @import { Family, Point } from './families.js' */

const CUMULATIVE = 2;

/** What UCUM calls our units. */
const UNITS = { '': '1', ratio: '1', seconds: 's', bytes: 'By' };

/**
 * A request to a collector: https://opentelemetry.io/docs/specs/otlp/, as JSON.
 * @param {Family[]} families
 * @param {object} o
 * @param {string} o.version
 * @param {number} o.atMs
 */
export function otlpOf(families, { version, atMs }) {
  // Without a start: sums outlive this process and the keeper, and a later start would say that they began anew.
  const times = { timeUnixNano: nanoseconds(atMs) };
  return {
    resourceMetrics: [{
      resource: { attributes: attributesOf({ 'service.name': 'nclust', 'service.version': version, 'host.name': hostname() }) },
      scopeMetrics: [{ scope: { name: 'nclust', version }, metrics: families.map((family) => ({ name: family.name, description: family.help, unit: UNITS[family.unit], ...dataOf(family, times) })) }],
    }],
  };
}

/** @param {Family} family @param {{timeUnixNano: string}} times */
function dataOf({ type, points }, times) {
  const dataPoints = points.map((point) => ({ attributes: attributesOf(point.labels), ...times, ...valueOf(point) }));
  if (type === 'gauge') return { gauge: { dataPoints } };
  return type === 'counter' ? { sum: { aggregationTemporality: CUMULATIVE, isMonotonic: true, dataPoints } } : { histogram: { aggregationTemporality: CUMULATIVE, dataPoints } };
}

/** @param {Point} point */
function valueOf(point) {
  if ('value' in point) return { asDouble: point.value };
  // Whole numbers of 64 bits are texts in this JSON.
  return { count: String(point.counts.reduce((sum, count) => sum + count, 0)), sum: point.sum, bucketCounts: point.counts.map(String), explicitBounds: point.bounds };
}

/** @param {Record<string, string>} labels */
function attributesOf(labels) {
  return Object.entries(labels).map(([key, value]) => ({ key, value: { stringValue: value } }));
}

/** @param {number} ms */
function nanoseconds(ms) {
  return `${Math.round(ms)}000000`;
}
