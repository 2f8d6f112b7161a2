import { SERIES, STEPS } from '../../../lib/shared/metrics.js';

/** @import { MetricsHistory, Points, SeriesName } from '../../../lib/shared/metrics.js' */
/** @import { DesiredApp } from '../state/desired.js' */
/** @import { Registry } from '../state/registry.js' */
/** @import { HistoryOptions } from './metrics.js' */

/**
 * 10 minutes in steps of 1 s, and 6 hours in steps of 10 s: 11 KB for each series that had a value.
 * @typedef {{ fine: Float32Array, coarse: Float32Array }} Rings
 */

const FINE = STEPS[1000];
const COARSE = STEPS[10000];
const FINE_PER_COARSE = 10;

/**
 * @template {string} K  The key: a slot, or the machine.
 * @typedef {object} History
 * @property {(nowMs: number) => void} advance  A tick. Missing ticks become gaps.
 * @property {(key: K, values: (number | null)[]) => void} put  `values`: in the order of series.
 * @property {(isKept: (key: K) => boolean) => void} forget  Drops all other keys.
 * @property {(keys: K[], series: number, o: { stepMs: 1000 | 10000, points: number }) => Points} read
 *   Adds up all keys, or takes their worst values.
 * @property {(stepMs: 1000 | 10000) => number} endMs  Time of the last point, wall clock.
 */

/**
 * @template {string} K
 * @param {boolean[]} worst  For each series: whether fold() takes the maximum, not the mean.
 */
export function createHistory(worst) {
  /** @type {Map<K, (Rings | undefined)[]>} */
  const kept = new Map();
  let tick = 0;
  let atMs = 0;
  let coarseAtMs = 0;

  function fold() {
    coarseAtMs = atMs;
    const at = Math.floor(tick / FINE_PER_COARSE) % COARSE;
    for (const all of kept.values())
      for (const [series, rings] of all.entries())
        if (rings) rings.coarse[at] = foldValues(getLast(rings.fine, tick, FINE_PER_COARSE), worst[series]);
  }

  return {
    /** @param {number} nowMs */
    advance(nowMs) {
      // If the clock was set, the passed time is not known, and one step is taken.
      const passed = atMs === 0 ? 1 : Math.round((nowMs - atMs) / 1000);
      const steps = passed >= 1 && passed <= FINE ? passed : 1;
      for (let step = 0; step < steps; step += 1) {
        // Folds the ticks of the last 10 s, because the newest of these ticks is complete now.
        if (tick > 0 && tick % FINE_PER_COARSE === 0) fold();
        tick += 1;
        for (const all of kept.values()) for (const rings of all) if (rings) rings.fine[tick % FINE] = NaN;
      }
      atMs = nowMs;
    },
    /**
     * @param {K} key
     * @param {(number | null)[]} values
     */
    put(key, values) {
      let all = kept.get(key);
      if (!all) kept.set(key, (all = values.map(() => undefined)));
      for (const [series, value] of values.entries()) {
        if (value === null) continue;
        const rings = (all[series] ??= {
          fine: new Float32Array(FINE).fill(NaN),
          coarse: new Float32Array(COARSE).fill(NaN),
        });
        rings.fine[tick % FINE] = value;
      }
    },
    /** @param {(key: K) => boolean} isKept */
    forget(isKept) {
      for (const key of kept.keys()) if (!isKept(key)) kept.delete(key);
    },
    /**
     * @param {K[]} keys
     * @param {number} series
     * @param {{ stepMs: 1000 | 10000, points: number }} o
     */
    read(keys, series, { stepMs, points }) {
      const isFine = stepMs === 1000;
      const last = isFine ? tick : Math.floor((tick - 1) / FINE_PER_COARSE);
      const totals = new Float64Array(points).fill(NaN);
      for (const key of keys) {
        const rings = kept.get(key)?.[series];
        if (rings) addLast(totals, isFine ? rings.fine : rings.coarse, last, worst[series]);
      }
      return Array.from(totals, (value) => (Number.isNaN(value) ? null : Math.round(value * 100) / 100));
    },
    /** @param {1000 | 10000} stepMs */
    endMs: (stepMs) => (stepMs === 1000 ? atMs : coarseAtMs),
  };
}

/**
 * @param {Float32Array} ring
 * @param {number} last
 * @param {number} count
 * @returns {number[]}  Oldest first.
 */
function getLast(ring, last, count) {
  return Array.from(
    { length: count },
    (_, at) => ring[(((last - count + 1 + at) % ring.length) + ring.length) % ring.length],
  );
}

/**
 * Makes no array, because an app may have 500 slots.
 * @param {Float64Array} totals  NaN: there is no value yet.
 * @param {Float32Array} ring
 * @param {number} last
 * @param {boolean} isWorst
 */
function addLast(totals, ring, last, isWorst) {
  const { length } = ring;
  let from = (((last - totals.length + 1) % length) + length) % length;
  for (let at = 0; at < totals.length; at += 1) {
    const value = ring[from];
    const total = totals[at];
    if (Number.isNaN(total)) totals[at] = value;
    else if (!Number.isNaN(value)) totals[at] = isWorst ? Math.max(total, value) : total + value;
    from = from + 1 === length ? 0 : from + 1;
  }
}

/**
 * @param {number[]} values
 * @param {boolean} isWorst
 */
function foldValues(values, isWorst) {
  const known = values.filter((value) => !Number.isNaN(value));
  if (known.length === 0) return NaN;
  return isWorst ? Math.max(...known) : known.reduce((sum, value) => sum + value, 0) / known.length;
}

const NAMES = /** @type {SeriesName[]} */ (Object.keys(SERIES));

/**
 * Contains the creation time, because ids begin at 0 again in an empty list, and a new app must not
 * get the history of an old app.
 * @param {DesiredApp} app
 * @param {number} id
 */
export function historyKey({ createdAtMs }, id) {
  return `${createdAtMs}:${id}`;
}

/**
 * @param {object} kept
 * @param {Registry} kept.registry
 * @param {ReturnType<typeof createHistory<string>>} kept.slots  By historyKey().
 * @param {ReturnType<typeof createHistory<'host'>>} kept.machine
 * @param {HistoryOptions} o
 * @returns {MetricsHistory}
 */
export function readHistory({ registry, slots, machine }, { ids, series, stepMs, points, of }) {
  const meant = ids && new Set(ids);
  const span = { stepMs, points };
  const read = (/** @type {string[]} */ keys) =>
    Object.fromEntries(series.map((name) => [name, slots.read(keys, NAMES.indexOf(name), span)]));
  const chosen = registry.desired.apps.flatMap((app) => {
    const own = app.slots.filter(({ id }) => meant?.has(id) ?? true);
    return own.length > 0 && of !== 'host'
      ? [{ name: app.spec.name, own: own.map(({ id, slot }) => ({ id, slot, key: historyKey(app, id) })) }]
      : [];
  });
  const listWorkers = () =>
    chosen
      .flatMap(({ name, own }) => own.map(({ id, slot, key }) => ({ id, name, slot, series: read([key]) })))
      .sort((a, b) => a.id - b.id);
  const listApps = () => chosen.map(({ name, own }) => ({ name, series: read(own.map(({ key }) => key)) }));
  return {
    stepMs,
    endMs: slots.endMs(stepMs),
    points,
    workers: of === 'apps' ? [] : listWorkers(),
    apps: of === 'workers' ? [] : listApps(),
    host: {
      cpu: machine.read(['host'], 0, span),
      memoryUsedBytes: machine.read(['host'], 1, span),
      load1: machine.read(['host'], 2, span),
    },
  };
}
