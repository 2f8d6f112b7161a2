import { formatBytes, formatUptime, needsAttention, statusStyle } from '../render/slots.js';
import { LAST_BRANCH, renderTable } from '../render/table.js';
import { listRows, mergeStatus } from './rows.js';
import { bytes, count, delay, rate } from './view-table.js';

/** @import { View } from '../render/slots.js' */
/** @import { MetricsSample } from '../shared/metrics.js' */

const HEAD = [
  'id',
  'name',
  'pid',
  'up',
  'status',
  'cpu',
  'mem',
  'heap',
  'loop p99',
  'req/s',
  'p99',
  '5xx/s',
  'conns',
  'fds',
  '↺',
];

/**
 * Renders one sample as text, for a terminal or file that cannot show the full-screen view.
 * @param {{ sample: MetricsSample | null }} data  Null: the command has shown the screen instead.
 * @param {View} view
 */
export function renderSnapshot({ sample }, { paint, columns }) {
  if (!sample) return '';
  const { host, atMs } = sample;
  const flipped = new Set(sample.apps.filter(({ workers }) => workers > 8).map(({ name }) => name));
  const rows = listRows({ sample, filter: '', sort: { field: 'name', isReversed: false }, flipped }).map(
    ({ app, worker, workers }) => {
      const of = /** @type {NonNullable<typeof app | typeof worker>} */ (app ?? worker);
      const status = mergeStatus(workers);
      const online = app && app.workers > 1 ? ` ${app.online}/${app.workers}` : '';
      return [
        worker ? String(worker.id) : '',
        app ? app.name : `${LAST_BRANCH}${worker?.slot}`,
        worker?.pid ? String(worker.pid) : '',
        worker?.pid && worker.startedAtMs !== null ? formatUptime(atMs - worker.startedAtMs) : '',
        {
          text: `${status}${online}${needsAttention(status) ? ' !' : ''}`,
          style: statusStyle(status),
        },
        `${of.cpu.toFixed(1)}%`,
        formatBytes(of.memoryBytes),
        bytes(of.heapUsedBytes),
        delay(of.delayP99Ms),
        rate(of.http?.requestsPerS),
        delay(of.http?.latencyP99Ms),
        rate(of.http?.errorsPerS),
        count(of.connections),
        count(of.fds),
        String(of.restarts),
      ];
    },
  );
  const machine =
    `cpu ${host.cpu.toFixed(1)}% of ${host.cores}, memory ` +
    `${formatBytes(host.memoryUsedBytes)} of ${formatBytes(host.memoryTotalBytes)}, load ` +
    `${[host.load1, host.load5, host.load15].map((load) => load.toFixed(2)).join(' ')}`;
  return `${machine}\n${renderTable({ head: HEAD, rows, paint, columns })}`;
}
