import { formatAddress } from '../shared/address.js';
import { formatDuration } from '../shared/units.js';
import { formatBytes, formatCount } from './format.js';

/** @import { AppSpec } from '../app-spec/types.js' */
/** @import { SlotStatus, SlotTriggers } from '../shared/wire/protocol.js' */

/** The family of a Unix socket. Its address is a path and its port is 0. */
export const UNIX_SOCKET = 'pipe';

/** @param {Pick<SlotStatus, 'addresses'>[]} slots */
export function listAddresses(slots) {
  const all = slots.flatMap(({ addresses }) =>
    addresses.map(({ address, port, family }) =>
      family === UNIX_SOCKET ? address : formatAddress({ host: address, port }),
    ),
  );
  return [...new Set(all)].join(', ');
}

/** @param {Pick<AppSpec, 'waitReady' | 'listenTimeoutMs' | 'minUptimeMs'>} spec */
export function describeReadiness({ waitReady, listenTimeoutMs, minUptimeMs }) {
  return waitReady
    ? `it sends "ready", within ${formatDuration(listenTimeoutMs)}`
    : `it listens, or has lived for ${formatDuration(minUptimeMs)}`;
}

/** @param {Pick<AppSpec, 'stopSignal'>} spec */
export function describeStopSignal({ stopSignal }) {
  return stopSignal ?? 'SIGTERM when the app listens to it, else SIGINT';
}

/**
 * @param {string} pattern
 * @param {{ nextRunMs: number | null, status: SlotStatus['status'] }} slot
 * @param {(atMs: number) => string} describeTime
 */
export function describeCron(pattern, { nextRunMs, status }, describeTime) {
  if (nextRunMs === null) return `${pattern}, ${status === 'stopped' ? 'not while it is stopped' : 'never again'}`;
  return `${pattern}, next ${describeTime(nextRunMs)}`;
}

/**
 * @param {number} limitBytes
 * @param {SlotTriggers['memory']} memory
 */
export function describeMemoryLimit(limitBytes, memory) {
  const now = memory ? `, now ${formatBytes(memory.bytes)} with its children` : '';
  // Ignores one or two misses, because a slow start may cause them.
  const hint =
    memory && memory.misses > 2
      ? `; above the limit right after the start, ${memory.misses} times in a row: set a higher limit`
      : '';
  return `${formatBytes(limitBytes)}${now}${hint}`;
}

/**
 * The two counters. A crash need not lead to a restart, so the second is not a part of the first.
 * @param {{ restarts: number, crashes?: number }[]} slots  An earlier manager sends no crashes.
 */
export function describeRestarts(slots) {
  const sum = (/** @type {'restarts' | 'crashes'} */ name) => slots.reduce((all, one) => all + (one[name] ?? 0), 0);
  const crashes = slots.every((one) => one.crashes === undefined)
    ? []
    : [formatCount(sum('crashes'), 'crash', 'crashes')];
  return [formatCount(sum('restarts'), 'restart'), ...crashes].join(', ');
}

/** @param {NonNullable<SlotTriggers['last']>} last */
export function describeTrigger({ by, problem }) {
  return `${by}${problem ? `; it failed: ${problem}` : ''}`;
}

/** @param {NonNullable<SlotStatus['logLost']>} lost */
export function describeLostLines({ lines, bytes, reason }) {
  return `${lines} (${formatBytes(bytes)}) in the last hour: ${reason}`;
}

/** @param {unknown} metric  The app may send {value, unit} or any other value. */
export function describeMetric(metric) {
  const { value, unit } = /** @type {{ value?: unknown, unit?: unknown }} */ (Object(metric));
  const shown = value === undefined ? metric : value;
  // Writes objects as JSON, because String() throws for some objects that an app can send.
  const words = typeof shown === 'object' ? JSON.stringify(shown) : String(shown);
  return typeof unit === 'string' && unit !== '' ? `${words} ${unit}` : words;
}
