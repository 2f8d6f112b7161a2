import { formatUptime } from '../render/slots.js';
import { bytes, count, delay, rate } from './figures.js';
import { put } from './screen.js';
import { statusOf } from './rows.js';

/** @import { Screen } from './screen.js' */
/** @import { Box } from './layout.js' */
/** @import { Row } from './rows.js' */

/**
 * @param {Screen} screen
 * @param {Box} box
 * @param {{row: Row|null, nowMs: number, span: import('./trends.js').Span}} o
 */
export function drawTitle(screen, box, { row, nowMs, span }) {
  drawRule(screen, box, row ? `${span === 'hours' ? 'last 6 hours · ' : ''}${wordsOf(row, nowMs)}` : '', 'bold');
}

/**
 * A line with words in it.
 * @param {Screen} screen
 * @param {Box} box
 * @param {string} text
 * @param {string} [style]
 */
export function drawRule(screen, box, text, style = 'cyan') {
  if (box.height <= 0) return;
  put(screen, { x: box.x, y: box.y, text: '─'.repeat(box.width), style: 'grey' });
  if (text) put(screen, { x: box.x + 2, y: box.y, text: ` ${text} `, style, width: Math.max(0, box.width - 3) });
}

/** @param {Row} row @param {number} nowMs */
function wordsOf({ app, worker, workers }, nowMs) {
  const name = app?.name ?? worker?.name ?? '';
  if (!worker) return `${name}: ${app?.online} of ${app?.workers} online`;
  const { pid, startedAtMs } = worker;
  const parts = [app ? name : `${name}, instance ${worker.slot}`, `id ${worker.id}`, statusOf(workers)];
  if (pid) parts.push(`pid ${pid}`, ...(startedAtMs === null ? [] : [`up ${formatUptime(nowMs - startedAtMs)}`]));
  if (isBlocked(worker)) parts.push(`no answer for ${delay(worker.reportAgeMs)}`);
  return parts.join(' · ');
}

/** Its event loop does not turn. @param {import('../shared/metrics.js').WorkerSample} worker */
function isBlocked({ status, reportAgeMs }) {
  return status === 'online' && reportAgeMs !== null && reportAgeMs > 3_000;
}

/**
 * @param {Screen} screen
 * @param {Box} box
 * @param {Row} row
 */
export function drawNumbers(screen, box, { app, worker }) {
  const of = app ?? worker;
  if (!of) return;
  const { http } = of;
  /** @type {[string, string][]} */
  const all = [
    ['heap', `${bytes(of.heapUsedBytes)}${worker?.heapLimitBytes ? `/${bytes(worker.heapLimitBytes)}` : ''}`],
    ['loop', of.elu === null ? '' : `${Math.round(of.elu * 100)}%`],
    ['p50/p95/p99', http && http.latencyP50Ms !== null ? [http.latencyP50Ms, http.latencyP95Ms, http.latencyP99Ms].map(delay).join(' ') : ''],
    ['5xx/s', http ? rate(http.errorsPerS) : ''],
    ['active', http ? count(http.activeRequests) : ''],
    ['conns', count(of.connections)],
    ['gc', of.gcMsPerS === null ? '' : `${delay(of.gcMsPerS)}/s`],
    ['fds', count(of.fds)],
    ['handles', count(worker?.handles)],
    ['restarts', count(of.restarts)],
    ['generation', count(worker?.generation)],
  ];
  let [x, y] = [box.x + 1, box.y];
  for (const [label, value] of all) {
    if (value === '') continue;
    if (x + label.length + value.length + 1 > box.x + box.width) [x, y] = [box.x + 1, y + 1];
    if (y >= box.y + box.height) return;
    x = put(screen, { x, y, text: `${label} `, style: 'grey' });
    x = put(screen, { x, y, text: value }) + 2;
  }
}
