import { addToSparks } from '../../../../lib/figures/trends.js';

/** @import { LoggedEvent } from '../../../../lib/shared/event-log.js' */
/** @import { MetricsHistory, MetricsSample, Points } from '../../../../lib/shared/metrics.js' */
/** @import { Phase, Welcome } from './connection.js' */

/**
 * @typedef {object} Store
 * @property {Phase} phase
 * @property {Welcome | null} welcome
 * @property {MetricsSample | null} sample
 * @property {number} heardAt  Arrival of the sample, by the clock of this page.
 * @property {Map<string, Points>} sparks  CPU, by the key of a row; "host" is the machine.
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
  const sparks = addToSparks(store.sparks, { sample, history }, store.sample?.atMs);
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
