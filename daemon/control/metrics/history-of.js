import { SERIES } from '../../../lib/shared/metrics.js';

/** @import { MetricsHistory, Points, SeriesName } from '../../../lib/shared/metrics.js' */
/** @import { HistoryOptions } from './metrics.js' */

const NAMES = /** @type {SeriesName[]} */ (Object.keys(SERIES));

/**
 * The history as clients get it.
 * @param {object} kept
 * @param {import('../state/registry.js').World} kept.world
 * @param {ReturnType<typeof import('./history.js').createHistory<number>>} kept.slots
 * @param {ReturnType<typeof import('./history.js').createHistory<'host'>>} kept.machine
 * @param {HistoryOptions} o
 * @returns {MetricsHistory}
 */
export function historyOf({ world, slots, machine }, { ids, series, stepMs, points, of }) {
  const meant = ids && new Set(ids);
  const span = { stepMs, points };
  const read = (/** @type {number} */ id) => new Map(series.map((name) => [name, slots.read(id, NAMES.indexOf(name), span)]));
  const chosen = world.desired.apps.flatMap(({ spec, slots: wishes }) => {
    const own = wishes.filter(({ id }) => meant?.has(id) ?? true);
    return own.length > 0 && of !== 'host' ? [{ name: spec.name, own: own.map(({ id, slot }) => ({ id, slot, values: read(id) })) }] : [];
  });
  return {
    stepMs,
    endMs: slots.endMs(stepMs),
    points,
    workers: of === 'apps' ? [] : chosen.flatMap(({ name, own }) => own.map(({ id, slot, values }) => ({ id, name, slot, series: Object.fromEntries(values) }))).sort((a, b) => a.id - b.id),
    apps: of === 'workers' ? [] : chosen.map(({ name, own }) => ({ name, series: Object.fromEntries(series.map((one) => [one, together(own.map(({ values }) => values.get(one) ?? []), SERIES[one].worst)])) })),
    host: { cpu: machine.read('host', 0, span), memoryUsedBytes: machine.read('host', 1, span), load1: machine.read('host', 2, span) },
  };
}

/** @param {Points[]} all @param {boolean} isWorst @returns {Points} */
function together(all, isWorst) {
  return all[0].map((_, at) => {
    const known = all.flatMap((points) => points[at] ?? []);
    if (known.length === 0) return null;
    return isWorst ? Math.max(...known) : Math.round(known.reduce((sum, value) => sum + value, 0) * 100) / 100;
  });
}
