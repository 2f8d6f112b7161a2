import { formatBytes, needsAttention, statusStyle, uptimeOf } from './slots.cjs';

/** @typedef {import('../shared/protocol.js').BriefStatus} BriefStatus */
/** @typedef {import('../shared/protocol.js').ShownStatus} ShownStatus */
/** @typedef {import('./slots.cjs').Row} Row */

/** @type {ShownStatus[]} */
const WORST_FIRST = ['errored', 'waiting restart', 'stopping', 'launching', 'stopped', 'online'];

/**
 * A row for each app, and below it one for each of its workers. An app with one has one row.
 * @param {BriefStatus[]} slots  In their order: an app comes where its first worker does.
 * @param {number} nowMs
 * @returns {Row[]}
 */
export function groupRows(slots, nowMs) {
  const apps = [...new Set(slots.map(({ name }) => name))].map((name) => slots.filter((slot) => slot.name === name));
  return apps.flatMap((workers) => (workers.length === 1 ? workers : [appRow(workers, nowMs), ...workers.map((worker, at) => workerRow(worker, at === workers.length - 1))]));
}

/**
 * @param {BriefStatus[]} workers
 * @param {number} nowMs
 * @returns {Row}
 */
function appRow(workers, nowMs) {
  const sum = (/** @type {'cpu'|'restarts'|'memoryBytes'} */ key) => workers.reduce((total, worker) => total + worker[key], 0);
  const oldest = workers.filter(({ pid, startedAtMs }) => pid && startedAtMs !== null).sort((a, b) => Number(a.startedAtMs) - Number(b.startedAtMs))[0] ?? workers[0];
  const memory = formatBytes(sum('memoryBytes'));
  return {
    ...workers[0],
    cpu: sum('cpu'),
    restarts: sum('restarts'),
    shown: { id: '', name: { text: `${workers[0].name} (${workers.length})`, style: 'bold' }, pid: '', uptime: uptimeOf(oldest, nowMs), status: statusCell(workers), mem: memory, memory },
  };
}

/** @param {BriefStatus[]} workers */
function statusCell(workers) {
  const worst = /** @type {ShownStatus} */ (WORST_FIRST.find((status) => workers.some((worker) => worker.status === status)));
  const count = (/** @type {ShownStatus} */ status) => workers.filter((worker) => worker.status === status).length;
  const parts = WORST_FIRST.filter((status) => count(status) > 0).reverse().map((status) => (count(status) === workers.length ? status : `${count(status)} ${status}`));
  return { text: `${parts.join(', ')}${needsAttention(worst) ? ' !' : ''}`, style: statusStyle(worst) };
}

/** @param {BriefStatus} worker @param {boolean} isLast @returns {Row} */
function workerRow(worker, isLast) {
  return { ...worker, shown: { name: `${isLast ? '└' : '├'} ${worker.name}`, namespace: '', version: '' } };
}
