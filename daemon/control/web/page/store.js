import { addToSparks, SPARK_POINTS } from './sparkline.js';
import { appKey, workerKey } from './rows.js';

/** @import { LoggedEvent } from '../../../../lib/shared/event-log.js' */
/** @import { MetricsHistory, MetricsSample } from '../../../../lib/shared/metrics.js' */
/** @import { SlotStatus } from '../../../../lib/shared/wire/protocol.js' */
/** @import { Phase, Welcome } from './connection.js' */
/** @import { Points } from './sparkline.js' */

/**
 * @typedef {object} Store
 * @property {Phase} phase
 * @property {Welcome | null} welcome
 * @property {MetricsSample | null} sample
 * @property {number} heardAt  Arrival of the sample, by the clock of this page.
 * @property {Map<string, Points>} sparks  CPU, by the key of a row; "host" is the machine.
 * @property {SlotStatus[]} slots
 * @property {string[]} notices
 * @property {LoggedEvent[]} events  Oldest first.
 */

const EVENTS_MAX = 1_000;

/** @returns {Store} */
export function emptyStore() {
  return {
    phase: 'connecting',
    welcome: null,
    sample: null,
    heardAt: 0,
    sparks: new Map(),
    slots: [],
    notices: [],
    events: [],
  };
}

/**
 * @param {Store} store
 * @param {MetricsSample & { history?: MetricsHistory }} news
 * @param {number} heardAt
 * @returns {Store}
 */
export function storeSample(store, { history, ...sample }, heardAt) {
  const seconds = store.sample ? Math.round((sample.atMs - store.sample.atMs) / 1_000) : 1;
  const known = history ? sparksOf(history) : null;
  const sparks =
    known ??
    addToSparks(
      store.sparks,
      [
        ...sample.apps.map(({ name, cpu }) => ({ key: appKey(name), cpu })),
        ...sample.workers.map(({ id, cpu }) => ({ key: workerKey(id), cpu })),
        { key: 'host', cpu: sample.host.cpu },
      ],
      Math.max(0, seconds - 1),
    );
  return { ...store, sample, heardAt, sparks };
}

/**
 * @param {Store} store
 * @param {LoggedEvent[]} events
 */
export function storeEvents(store, events) {
  return { ...store, events: [...store.events, ...events].slice(-EVENTS_MAX) };
}

/**
 * Returns the time of the manager's machine, whose clock may differ.
 * @param {Store} store
 * @param {number} now
 */
export function managerTime({ sample, heardAt }, now) {
  return (sample?.atMs ?? Date.now()) + (sample ? now - heardAt : 0);
}

/**
 * Returns the age of an outdated sample, in ms. Samples come every second, so a sample is outdated
 * if it is older than STALE_MS, or if the page has no connection.
 * @param {Store} store
 * @param {number} now
 * @returns {number | null}  Null: the sample is fresh, or there is no sample yet.
 */
export function computeStaleMs({ phase, sample, heardAt }, now) {
  if (!sample) return null;
  const age = now - heardAt;
  return phase !== 'live' || age > STALE_MS ? age : null;
}

const STALE_MS = 4_000;

/** @param {MetricsHistory} history */
function sparksOf({ workers, apps, host }) {
  /** @type {Map<string, Points>} */
  const sparks = new Map([['host', (host?.cpu ?? []).slice(-SPARK_POINTS)]]);
  for (const { name, series } of apps) sparks.set(appKey(name), series.cpu ?? []);
  for (const { id, series } of workers) sparks.set(workerKey(id), series.cpu ?? []);
  return sparks;
}
