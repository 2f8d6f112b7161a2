import { readConnections } from '../host/socket-holder.js';
import { getSlotHistory } from '../state/registry.js';
import { BRAKE_MS, describeIllness, judgeHealth } from './verdict.js';

/** @import { Replacement } from '../../../lib/shared/troubles.js' */
/** @import { Control } from '../context.js' */
/** @import { AppFacts } from '../troubles/facts.js' */
/** @import { WorkerFacts } from '../troubles/worker-facts.js' */
/** @import { DesiredApp } from '../state/desired.js' */
/** @import { Signs } from './verdict.js' */

/** Shorter delays are usual. */
const SUSPECT_MS = 1_000;

/** @typedef {ReturnType<typeof createHealth>} Health */

/**
 * Replaces instances that cannot serve by their own fault.
 * @param {object} o
 * @param {Pick<Control, 'registry'>} o.control
 * @param {(name: string, id: number, o: { reason: string, isDue: () => boolean }) => void} o.replace
 *   isDue: whether it is still to be replaced when its turn comes.
 * @param {typeof readConnections} [o.readTables]
 */
export function createHealth({ control: { registry }, replace, readTables = readConnections }) {
  /** @type {Signs} */
  let signs = new Map();
  /** @type {Map<string, Replacement>} */
  let verdicts = new Map();
  /** When a replacement was asked for, by instance. @type {Map<string, { name: string, atMs: number }>} */
  const requests = new Map();

  /**
   * @param {DesiredApp} app
   * @param {WorkerFacts[]} workers
   * @param {number} nowMs
   */
  function assess(app, workers, nowMs) {
    const online = workers.filter(({ status, instanceId }) => status === 'online' && instanceId !== null);
    const find = (/** @type {WorkerFacts} */ { instanceId }) => registry.instances.get(instanceId ?? '');
    const tables = readTables(online.filter(isSuspect).map(({ pid }) => pid));
    const patients = online.map((worker) => ({
      worker,
      isBooted: (find(worker)?.bootedAtMs ?? null) !== null,
      isInspected: tables.get(worker.pid)?.isInspected === true || (find(worker)?.snapshots ?? 0) > 0,
      hasInput: tables.get(worker.pid)?.hasInput === true,
    }));
    const { mode, hangTimeoutMs } = app.spec;
    const isRecent = (/** @type {number} */ atMs) => Math.abs(nowMs - atMs) < BRAKE_MS;
    for (const [id, { atMs }] of requests) if (!isRecent(atMs)) requests.delete(id);
    const asked = new Set([...requests].flatMap(([id, { name }]) => (name === app.spec.name ? id : [])));
    // An earlier control may have asked for these.
    const replaced = app.slots
      .flatMap(({ id }) => getSlotHistory(registry, id).deaths)
      .filter(({ cause, atMs }) => cause === 'unhealthy' && isRecent(atMs)).length;
    return judgeHealth({ patients, isCluster: mode === 'cluster', hangTimeoutMs, asked, replaced }, signs, nowMs);
  }

  /**
   * @param {string} instanceId
   * @param {typeof verdicts} found
   * @param {number} nowMs
   */
  function isDue(instanceId, found, nowMs) {
    const verdict = found.get(instanceId);
    return verdict !== undefined && 'atMs' in verdict && verdict.atMs <= nowMs && !requests.has(instanceId);
  }

  /**
   * @param {WorkerFacts} worker
   * @param {number} nowMs
   */
  function ask(worker, nowMs) {
    const { name, id } = worker;
    const instanceId = /** @type {string} */ (worker.instanceId);
    requests.set(instanceId, { name, atMs: nowMs });
    markHung(instanceId);
    replace(name, id, { reason: describeIllness(worker, nowMs), isDue: () => signs.has(instanceId) });
  }

  /** @param {string} instanceId */
  function markHung(instanceId) {
    const instance = registry.instances.get(instanceId);
    if (instance) instance.isHung = signs.get(instanceId)?.kind === 'loop-blocked';
  }

  return {
    /**
     * @param {AppFacts[]} apps
     * @param {number} nowMs
     */
    look(apps, nowMs) {
      /** @type {Signs} */
      const nextSigns = new Map();
      /** @type {typeof verdicts} */
      const nextVerdicts = new Map();
      const due = [];
      for (const [at, { workers }] of apps.entries()) {
        if (!workers.some(isSuspect)) continue;
        const app = registry.desired.apps[at];
        const found = assess(app, workers, nowMs);
        for (const [id, sign] of found.signs) nextSigns.set(id, sign);
        for (const [id, verdict] of found.verdicts) nextVerdicts.set(id, verdict);
        const worker = workers.find(({ instanceId }) => isDue(instanceId ?? '', found.verdicts, nowMs));
        if (worker && !app.rollout.isGuarded) due.push(worker);
      }
      signs = nextSigns;
      verdicts = nextVerdicts;
      for (const instanceId of requests.keys()) markHung(instanceId);
      for (const worker of due) ask(worker, nowMs);
    },
    /** @param {string} instanceId @returns {Replacement | null} */
    of: (instanceId) => verdicts.get(instanceId) ?? null,
    /** @param {number} ms  By which the clock of the machine has jumped. */
    moveTimes(ms) {
      signs = new Map([...signs].map(([id, sign]) => [id, { ...sign, sinceMs: sign.sinceMs + ms }]));
    },
  };
}

/**
 * Cheap, because it is asked for each instance in each look.
 * @param {WorkerFacts} worker
 */
function isSuspect({ reportAgeMs, poolWaitMs, wallTimes }) {
  return (reportAgeMs ?? 0) > SUSPECT_MS || (poolWaitMs ?? 0) > SUSPECT_MS || wallTimes > 0;
}
