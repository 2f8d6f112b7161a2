import { NO_INCIDENTS } from './incidents.js';
import { findDeadline } from '../state/registry.js';
import { NO_HTTP } from './usual.js';
import { createWorkerReader } from './worker-facts.js';

/** @import { ErrorLines } from '../../../lib/shared/metrics.js' */
/** @import { Replacement } from '../../../lib/shared/troubles.js' */
/** @import { Control, Parts } from '../context.js' */
/** @import { Losing } from '../logs/app-logs.js' */
/** @import { Metrics } from '../metrics/metrics.js' */
/** @import { Sources } from '../metrics/sample.js' */
/** @import { DesiredApp } from '../state/desired.js' */
/** @import { TakenFrame } from './frames.js' */
/** @import { Incidents } from './incidents.js' */
/** @import { Answered } from './usual.js' */
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
 * @property {Losing | null} losing  Null: every line is written.
 */

/**
 * @typedef {object} StopFacts
 * @property {number} slot
 * @property {string | null} signal
 * @property {number} signalledMs  About: an instance gets its signal when it has no open request.
 * @property {number} killAtMs
 */

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
 * @param {Pick<Metrics, 'sources' | 'addActivities' | 'moveTimes'>} o.metrics
 * @param {Pick<Parts['logs'], 'losing'>} o.logs
 * @param {ReturnType<typeof import('./usual.js').createHttpReader>} o.readHttp
 * @param {(instanceId: string, ageMs: number) => TakenFrame | null} o.frameOf
 * @param {(instanceId: string) => Replacement | null} o.replacementOf
 */
export function createFacts({ control, metrics, logs, readHttp, frameOf, replacementOf }) {
  const { registry } = control;
  const workersReader = createWorkerReader({ registry, metrics, frameOf, replacementOf });
  /** Since when each stopping instance has had no open request. @type {Map<string, number>} */
  let idleSinceMs = new Map();

  /**
   * Leaves out instances that still finish requests, because these get no signal yet, and orphans,
   * because many of them are replaced at once.
   * @param {Sources['trackOf']} trackOf
   * @param {number} nowMs
   * @returns {Map<string, StopFacts[]>}  By the name of the app.
   */
  function collectStops(trackOf, nowMs) {
    /** @type {Map<string, StopFacts[]>} */
    const found = new Map();
    /** @type {typeof idleSinceMs} */
    const idle = new Map();
    for (const seat of registry.seats.values()) {
      const { name, slot, life, sinceMs, instanceId } = seat;
      const instance = life.state === 'stopping' ? registry.instances.get(instanceId ?? '') : undefined;
      if (!instance || instance.exit || instance.isOrphan) continue;
      const isBusy = (trackOf(instance.instanceId)?.last.http?.active ?? 0) > 0;
      const idleMs = isBusy ? nowMs : Math.max(sinceMs, idleSinceMs.get(instance.instanceId) ?? 0);
      idle.set(instance.instanceId, idleMs);
      const killAtMs = findDeadline(registry, seat);
      if (isBusy || killAtMs === null) continue;
      const stop = { slot, signal: instance.label.stop.signal, signalledMs: idleMs, killAtMs };
      found.set(name, [...(found.get(name) ?? []), stop]);
    }
    idleSinceMs = idle;
    return found;
  }

  return {
    /**
     * @param {Map<string, Incidents>} incidents  By the name of the app.
     * @param {Map<string, AppFacts['sockets']>} sockets
     * @param {number} nowMs
     * @returns {AppFacts[]}
     */
    collect(incidents, sockets, nowMs) {
      const sources = metrics.sources();
      const { apps } = registry.desired;
      const workers = workersReader.read(sources, nowMs);
      const losing = logs.losing();
      const stops = collectStops(sources.trackOf, nowMs);
      // Orphans listen on sockets of the dead keeper.
      const orphans = new Set([...registry.instances.values()].flatMap((one) => (one.isOrphan ? one.label.id : [])));
      const answered = new Map(apps.map((app, at) => [app, sumAnswers(workers[at])]));
      const answeredOf = (/** @type {DesiredApp} */ app) => /** @type {Answered} */ (answered.get(app));
      const http = readHttp(
        apps.filter((app) => answeredOf(app).requests > 0),
        answeredOf,
      );
      return apps.map(({ spec: { name }, createdAtMs, slots }, at) => ({
        name,
        createdAtMs,
        workers: workers[at],
        stops: stops.get(name) ?? NO_STOPS,
        incidents: incidents.get(name) ?? NO_INCIDENTS,
        http: http.get(name) ?? NO_HTTP,
        sockets: (slots.some(({ id }) => orphans.has(id)) ? null : sockets.get(name)) ?? NO_SOCKETS,
        errorLines: sources.errorLinesOf(name),
        losing: losing.get(name) ?? null,
      }));
    },
    /** @param {number} ms  By which the clock of the machine has jumped. */
    moveTimes(ms) {
      metrics.moveTimes(ms);
      workersReader.moveTimes(ms);
      idleSinceMs = new Map([...idleSinceMs].map(([id, atMs]) => [id, atMs + ms]));
    },
  };
}

/**
 * @param {WorkerFacts[]} workers
 * @returns {Answered}
 */
function sumAnswers(workers) {
  let requests = 0;
  let errors = 0;
  for (const worker of workers) {
    requests += worker.requests;
    errors += worker.errors;
  }
  return { requests, errors };
}
