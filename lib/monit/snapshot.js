import { formatBytes, formatPercent } from '../figures/format.js';
import { figureText, listRows, rowStatus, SHOWN_WORKERS, uptimeText } from '../figures/rows.js';
import { attentionLine } from '../render/list.js';
import { statusStyle } from '../render/slots.js';
import { LAST_BRANCH, renderTable } from '../render/table.js';

/** @import { View } from '../render/slots.js' */
/** @import { MetricsSample } from '../shared/metrics.js' */

/** The titles and the figures of the last columns. @type {[title: string, name: string][]} */
const FIGURES = [
  ['cpu', 'cpu'],
  ['mem', 'memoryBytes'],
  ['heap', 'heapUsedBytes'],
  ['loop p99', 'delayP99Ms'],
  ['req/s', 'requestsPerS'],
  ['p99', 'latencyP99Ms'],
  ['5xx/s', 'errorsPerS'],
  ['conns', 'connections'],
  ['fds', 'fds'],
  ['↺', 'restarts'],
];

const HEAD = ['id', 'name', 'pid', 'up', 'status', ...FIGURES.map(([title]) => title)];

/**
 * Renders one sample as text, for a terminal or file that cannot show the full-screen view.
 * @param {{ sample: MetricsSample | null }} data  Null: the command has shown the screen instead.
 * @param {View} view
 */
export function renderSnapshot({ sample }, { paint, columns }) {
  if (!sample) return '';
  const { host, atMs } = sample;
  const flipped = new Set(sample.apps.filter(({ workers }) => workers > SHOWN_WORKERS).map(({ name }) => name));
  const rows = listRows({ sample, flipped }).map((row) => {
    const { of, app, worker, workers, troubles } = row;
    const status = rowStatus(row);
    const online = app && app.workers > 1 ? ` ${app.online}/${app.workers}` : '';
    return [
      worker ? String(worker.id) : '',
      app ? app.name : `${LAST_BRANCH}${worker?.slot}`,
      worker?.pid ? String(worker.pid) : '',
      worker ? uptimeText(workers, atMs) : '',
      { text: `${status}${online}${troubles.length > 0 ? ' !' : ''}`, style: statusStyle(status) },
      ...FIGURES.map(([, name]) => figureText(of, name)),
    ];
  });
  const machine =
    `cpu ${formatPercent(host.cpu)} of ${host.cores}, memory ` +
    `${formatBytes(host.memoryUsedBytes)} of ${formatBytes(host.memoryTotalBytes)}, load ` +
    `${[host.load1, host.load5, host.load15].map((load) => load.toFixed(2)).join(' ')}`;
  const table = renderTable({ head: HEAD, rows, paint, columns });
  return `${machine}\n${table}${attentionLine(sample.troubles ?? [], { paint })}`;
}
