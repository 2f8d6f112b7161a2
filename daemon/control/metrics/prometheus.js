/** @import { Family, Point } from './families.js' */

/** The two formats that Prometheus reads: https://prometheus.io/docs/instrumenting/exposition_formats/ */
export const TEXT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
export const OPENMETRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/**
 * @param {Family[]} families
 * @param {boolean} isOpenMetrics
 * @returns {string}
 */
export function expose(families, isOpenMetrics) {
  const lines = families.flatMap((family) => {
    // In OpenMetrics a counter is called without the ending, and its one sample with it.
    const name = family.type === 'counter' && !isOpenMetrics ? `${family.name}_total` : family.name;
    return [
      `# HELP ${name} ${escapeHelp(family.help, isOpenMetrics)}`,
      `# TYPE ${name} ${family.type}`,
      ...(isOpenMetrics && family.unit !== '' ? [`# UNIT ${name} ${family.unit}`] : []),
      ...family.points.flatMap((point) => samplesOf(family, point)),
    ];
  });
  return `${[...lines, ...(isOpenMetrics ? ['# EOF'] : [])].join('\n')}\n`;
}

/** @param {Family} family @param {Point} point @returns {string[]} */
function samplesOf({ name, type }, point) {
  if ('value' in point) return [`${type === 'counter' ? `${name}_total` : name}${labelText(point.labels)} ${number(point.value)}`];
  let below = 0;
  const buckets = point.counts.map((count, at) => {
    below += count;
    return `${name}_bucket${labelText({ ...point.labels, le: at < point.bounds.length ? number(point.bounds[at]) : '+Inf' })} ${below}`;
  });
  return [...buckets, `${name}_sum${labelText(point.labels)} ${number(point.sum)}`, `${name}_count${labelText(point.labels)} ${below}`];
}

/** @param {Record<string, string>} labels */
function labelText(labels) {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}="${value.replace(/\\/g, '\\\\').replace(/\n/g, '\\n').replace(/"/g, '\\"')}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

/** @param {string} help @param {boolean} isOpenMetrics */
function escapeHelp(help, isOpenMetrics) {
  const text = help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n');
  return isOpenMetrics ? text.replace(/"/g, '\\"') : text;
}

/** In OpenMetrics bounds are floats: 1.0. @param {number} value */
function number(value) {
  return Number.isFinite(value) ? String(value) : value > 0 ? '+Inf' : 'NaN';
}
