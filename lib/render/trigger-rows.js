import { completeSpec } from '../shared/spec/spec.js';
import { formatBytes } from './slots.js';
import { formatDuration } from '../shared/units.js';

/** @typedef {import('../shared/wire/protocol.js').SlotStatus} SlotStatus */
/** @typedef {import('./table.js').Cell} Cell */

/**
 * What may replace a process besides commands. Rows only for what is set.
 * @param {SlotStatus} slot  With detail.
 * @param {number} nowMs
 * @returns {Cell[][]}
 */
export function triggerRows({ spec: given, triggers, pidFile, watching }, nowMs) {
  if (!given) return [];
  const spec = completeSpec(given);
  return [
    ...(pidFile ? [['pid path', pidFile]] : []),
    ['watch & reload', watchText(spec, triggers?.watch ?? null, watching)],
    ...(triggers?.watch?.problem ? [['watch problem', /** @type {Cell} */ ({ text: triggers.watch.problem, style: 'yellow' })]] : []),
    ...(spec.cronRestart === null ? [] : [['cron restart', cronText(spec.cronRestart, triggers?.nextRunMs ?? null, nowMs)]]),
    ...(spec.maxMemoryBytes === 0 ? [] : [['max memory restart', memoryText(spec.maxMemoryBytes, triggers?.memory ?? null)]]),
    ...(triggers?.last ? [['last trigger', lastText(triggers.last)]] : []),
  ];
}

/**
 * @param {NonNullable<SlotStatus['spec']>} spec
 * @param {import('../shared/wire/protocol.js').WatchShown|null} watch
 * @param {boolean} isWatching
 */
function watchText({ watch: given, watchOff }, watch, isWatching) {
  if (given.length === 0) return 'disabled';
  if (watchOff) return `disabled for now: ${given.join(', ')}`;
  if (!watch || !isWatching) return `when it runs: ${given.join(', ')}`;
  return `${watch.isReady ? '' : 'not yet: '}${watch.paths.join(', ')}`;
}

/**
 * @param {string} pattern
 * @param {number|null} nextRunMs
 * @param {number} nowMs
 */
function cronText(pattern, nextRunMs, nowMs) {
  return nextRunMs === null ? `${pattern}, never again` : `${pattern}, next ${new Date(nextRunMs).toISOString()} (in ${formatDuration(Math.max(0, nextRunMs - nowMs))})`;
}

/**
 * @param {number} limitBytes
 * @param {{bytes: number, misses: number}|null} memory
 */
function memoryText(limitBytes, memory) {
  const now = memory ? `, now ${formatBytes(memory.bytes)} with its children` : '';
  // One or two may be a slow beginning.
  const hint = memory && memory.misses > 2 ? `; above it from the start, ${memory.misses} times in a row: set it higher` : '';
  return `${formatBytes(limitBytes)}${now}${hint}`;
}

/** @param {NonNullable<NonNullable<SlotStatus['triggers']>['last']>} last */
function lastText({ atMs, by, problem }) {
  return `${new Date(atMs).toISOString()} ${by}${problem ? `; it did not come about: ${problem}` : ''}`;
}
