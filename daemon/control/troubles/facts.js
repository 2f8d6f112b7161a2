import { NO_INCIDENTS } from './incidents.js';
import { findDeadline } from '../state/registry.js';
import { NO_HTTP } from './usual.js';
import { createWorkerReader } from './worker-facts.js';

/** @import { ErrorLines } from '../../../lib/shared/metrics.js' */
/** @import { Control, Parts } from '../context.js' */
/** @import { Metrics } from '../metrics/metrics.js' */
/** @import { Sources } from '../metrics/sample.js' */
/** @import { DesiredApp } from '../state/desired.js' */
/** @import { Registry } from '../state/registry.js' */
/** @import { Incidents } from './incidents.js' */
/** @import { WorkerFacts } from './worker-facts.js' */

/**
 * @typedef {object} AppFacts
 * @property {string} name
 * @property {number} createdAtMs
 * @property {WorkerFacts[]} workers
 * @property {StopFacts[]} stops
 * @property {Incidents} incidents
 * @property {HttpFacts} http
 * @property {{ address: string, port: number, isServed: boolean }[]} sockets  That the keeper holds.
 * @property {ErrorLines | null} errorLines
 * @property {{ lines: number, reason: string } | null} losing  Null: every line is written.
 */

/** @typedef {{ slot: number, signal: string | null, signalledMs: number, killAtMs: number }} StopFacts */

/**
 * @typedef {object} HttpFacts  The means of half a minute.
 * @property {number} requestsPerS
 * @property {number} errorsPerS
 * @property {boolean} hasAnswered
 * @property {number | null} usualP99Ms  Null: not known yet.
 * @property {number | null} usualShare  Of the errors.
 */

/** @type {StopFacts[]} */
const NO_STOPS = [];
/** @type {AppFacts['sockets']} */
const NO_SOCKETS = [];

/**
 * @param {object} o
 * @param {Pick<Control, 'registry'>} o.control
 * @param {Pick<Metrics, 'sources' | 'addActivities'>} o.metrics
 * @param {Pick<Parts['logs'], 'losing'>} o.logs
 * @param {(apps: DesiredApp[]) => Map<string, HttpFacts>} o.readHttp
 */
export function createFacts({ control, metrics, logs, readHttp }) {
  const { registry } = control;
  const readWorkers = createWorkerReader(registry, metrics);

  return {
    /**
     * @param {Map<string, Incidents>} incidents  By the name of the app.
     * @param {Map<string, AppFacts['sockets']>} sockets
     * @param {number} nowMs
     * @returns {AppFacts[]}
     */
    collect(incidents, sockets, nowMs) {
      const { trackOf, errorLinesOf } = metrics.sources();
      const { apps } = registry.desired;
      const workers = readWorkers(nowMs);
      const losing = logs.losing();
      const stops = groupStops(registry, trackOf);
      const http = readHttp(apps.filter((_, at) => workers[at].some(({ hasAnswered }) => hasAnswered)));
      return apps.map(({ spec: { name }, createdAtMs }, at) => ({
        name,
        createdAtMs,
        workers: workers[at],
        stops: stops.get(name) ?? NO_STOPS,
        incidents: incidents.get(name) ?? NO_INCIDENTS,
        http: http.get(name) ?? NO_HTTP,
        sockets: sockets.get(name) ?? NO_SOCKETS,
        errorLines: errorLinesOf(name),
        losing: losing.get(name) ?? null,
      }));
    },
  };
}

/**
 * Leaves out instances that still finish requests, because these get no signal yet.
 * @param {Registry} registry
 * @param {Sources['trackOf']} trackOf
 * @returns {Map<string, StopFacts[]>}  By the name of the app.
 */
function groupStops(registry, trackOf) {
  /** @type {Map<string, StopFacts[]>} */
  const found = new Map();
  for (const seat of registry.seats.values()) {
    const { name, slot, life, sinceMs, instanceId } = seat;
    const instance = life.state === 'stopping' ? registry.instances.get(instanceId ?? '') : undefined;
    if (!instance || instance.exit || (trackOf(instance.instanceId)?.last.http?.active ?? 0) > 0) continue;
    const killAtMs = findDeadline(registry, seat);
    if (killAtMs === null) continue;
    const stop = { slot, signal: instance.label.stop.signal, signalledMs: sinceMs, killAtMs };
    found.set(name, [...(found.get(name) ?? []), stop]);
  }
  return found;
}
