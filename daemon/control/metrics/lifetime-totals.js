import { getSlotHistory } from '../state/registry.js';
import { addPairs, COUNT_MAX, LATENCY_STEPS, noLatencies } from './latency.js';

/** @import { HttpTotals } from '../../../lib/shared/metrics.js' */
/** @import { Instance, Registry } from '../state/registry.js' */
/** @import { Served, SlotHistory } from '../state/slot-history.js' */

/**
 * @typedef {object} HttpReport  The agent's counts of HTTP: sums since its process started.
 * @property {number} requests
 * @property {number} active
 * @property {number | null} oldestMs  Null: no request waits for its response headers.
 * @property {number} aborted
 * @property {number} upgrades
 * @property {number[]} responses
 * @property {number} durationMs
 * @property {number[]} latency
 */

/** Number of instances in `from`. The keeper has forgotten older ones. */
const FROM_KEPT = 8;

/**
 * Counts each gone instance once, even if the keeper reports it again.
 * @param {SlotHistory} history
 * @param {string} instanceId
 * @param {any} report  The last report of the agent. Null: there was no report.
 */
export function keepServed(history, instanceId, report) {
  const http = readHttp(report?.http);
  const served = history.served ?? null;
  if (!http || served?.from.includes(instanceId)) return;
  const { latency, ...totals } = addTotals(served, [http]);
  const from = [...(served?.from ?? []), instanceId].slice(-FROM_KEPT);
  // Requests that were open when the process ended count as aborted.
  history.served = { from, ...totals, aborted: totals.aborted + http.active, latency: getPairs(latency) };
}

/**
 * @param {Served | null} served
 * @param {HttpReport[]} reports
 */
export function addTotals(served, reports) {
  const all = [...(served ? [served] : []), ...reports];
  const add = (/** @type {number} */ total, /** @type {number} */ more) => Math.min(COUNT_MAX, total + more);
  const sum = (/** @type {'requests' | 'aborted' | 'upgrades' | 'durationMs'} */ key) =>
    all.reduce((total, one) => add(total, one[key]), 0);
  const latency = noLatencies();
  for (const one of all) addPairs(latency, one.latency, 1);
  return {
    requests: sum('requests'),
    aborted: sum('aborted'),
    upgrades: sum('upgrades'),
    durationMs: sum('durationMs'),
    responses: [0, 1, 2, 3, 4].map((at) => all.reduce((total, one) => add(total, one.responses[at] ?? 0), 0)),
    latency,
  };
}

/**
 * @param {ReturnType<typeof addTotals>} sum
 * @returns {HttpTotals}
 */
export function toTotals({ requests, aborted, upgrades, responses, durationMs }) {
  const [info, success, redirect, clientError, serverError] = responses;
  const byClass = { '1xx': info, '2xx': success, '3xx': redirect, '4xx': clientError, '5xx': serverError };
  return { requests, aborted, upgrades, responses: byClass, durationMs };
}

/**
 * Checks each value, because a user's process sent the data.
 * @param {any} given
 * @returns {HttpReport | null}
 */
export function readHttp(given) {
  if (typeof given !== 'object' || given === null) return null;
  const list = (/** @type {unknown} */ value, /** @type {number} */ length) =>
    Array.isArray(value) ? value.slice(0, length).map(count) : [];
  return {
    requests: count(given.requests),
    active: count(given.active),
    oldestMs: numberOrNull(given.oldestMs),
    aborted: count(given.aborted),
    upgrades: count(given.upgrades),
    responses: list(given.responses, 5),
    durationMs: number(given.durationMs),
    latency: list(given.latency, 2 * LATENCY_STEPS),
  };
}

/**
 * @param {unknown} value
 * @returns {number}  `value` if it is a number from 0 to COUNT_MAX. Otherwise 0.
 */
export function number(value) {
  return typeof value === 'number' && value >= 0 && value <= COUNT_MAX ? value : 0;
}

/**
 * @param {unknown} value
 * @returns {number | null}  Null: the agent does not know it, or has an earlier version.
 */
export function numberOrNull(value) {
  return typeof value === 'number' ? number(value) : null;
}

/**
 * @param {unknown} value
 * @returns {number}  `value` if it is a whole number from 0 to COUNT_MAX. Otherwise 0, because OTLP
 *   requires whole numbers for counts.
 */
function count(value) {
  return Number.isSafeInteger(value) ? number(value) : 0;
}

/** @param {number[]} steps */
function getPairs(steps) {
  return steps.flatMap((count, step) => (count > 0 ? [step, count] : []));
}

/**
 * Counts each gone instance once, even if the keeper reports it again.
 * @param {SlotHistory} history
 * @param {Pick<Instance, 'instanceId' | 'cpuMs'>} instance
 * @param {any} report
 *   The last report of the agent, often newer than the last measurement. Null: there was no report.
 */
export function keepSpent(history, { instanceId, cpuMs = 0 }, report) {
  const spent = history.spent ?? { from: [], ms: 0 };
  if (spent.from.includes(instanceId)) return;
  history.spent = {
    from: [...spent.from, instanceId].slice(-FROM_KEPT),
    ms: spent.ms + Math.max(cpuMs, number(report?.cpuMs)),
  };
}

/**
 * @param {Registry} registry
 * @returns {Map<number, number>}
 *   CPU time by slot id, in ms. Slots with an unmeasured instance are missing, because a sum must
 *   not fall.
 */
export function spentBySlot(registry) {
  /** @type {Map<number, number>} */
  const sums = new Map(
    registry.desired.apps.flatMap(({ slots }) =>
      slots.map(({ id }) => /** @type {const} */ ([id, getSlotHistory(registry, id).spent?.ms ?? 0])),
    ),
  );
  for (const { label, pid, cpuMs } of registry.instances.values())
    if (pid > 0 && sums.has(label.id)) sums.set(label.id, (sums.get(label.id) ?? 0) + (cpuMs ?? NaN));
  return new Map([...sums].filter(([, ms]) => !Number.isNaN(ms)));
}
