import { readConnections } from '../host/socket-holder.js';
import { waitsForDisk } from '../host/activity-kind.js';
import { getSlotHistory } from '../state/registry.js';
import { BRAKE_MS, describeIllness, findSign, judgeHealth } from './verdict.js';

/** @import { Replacement } from '../../../lib/shared/troubles.js' */
/** @import { Control } from '../context.js' */
/** @import { DesiredApp } from '../state/desired.js' */
/** @import { Due } from '../triggers/triggers.js' */
/** @import { AppFacts } from '../troubles/facts.js' */
/** @import { WorkerFacts } from '../troubles/worker-facts.js' */
/** @import { Patient, Signs } from './verdict.js' */

/**
 * Replaces instances that cannot serve by their own fault.
 * @param {object} o
 * @param {Pick<Control, 'registry'>} o.control
 * @param {(name: string, id: number, due: Due) => void} o.replace
 * @param {typeof readConnections} [o.readTables]
 * @param {typeof waitsForDisk} [o.isInDiskWait]
 */
export function createHealth({
  control: { registry },
  replace,
  readTables = readConnections,
  isInDiskWait = waitsForDisk,
}) {
  /** @type {Signs} */
  let signs = new Map();
  /** @type {Map<string, Replacement>} */
  let verdicts = new Map();
  /** @typedef {{ id: number, atMs: number, hasFailed: boolean }} Request */
  /** By instance. @type {Map<string, Request>} */
  const requests = new Map();
  /** @type {Set<string>} */
  let hung = new Set();
  /** When this control looked first. @type {number | null} */
  let firstMs = null;

  /**
   * @param {WorkerFacts} worker
   * @param {ReturnType<typeof readTables>} tables
   * @returns {Patient}
   */
  function examine(worker, tables) {
    const instance = registry.instances.get(worker.instanceId ?? '');
    const { isInspected = false, hasInput = false } = tables.get(worker.pid) ?? {};
    return {
      worker,
      isBooted: (instance?.bootedAtMs ?? null) !== null,
      isInspected: isInspected || (instance?.snapshots ?? 0) > 0,
      hasInput,
      isInDiskWait: tables.has(worker.pid) && isInDiskWait(worker.pid),
    };
  }

  /**
   * @param {DesiredApp} app
   * @param {Patient[]} patients
   * @param {number} nowMs
   */
  function assess({ spec: { mode, hangTimeoutMs }, slots }, patients, nowMs) {
    const isRecent = (/** @type {number} */ atMs) => Math.abs(nowMs - atMs) < BRAKE_MS;
    for (const [instanceId, { atMs }] of requests) if (!isRecent(atMs)) requests.delete(instanceId);
    const asked = new Map([...requests].filter(([, request]) => slots.some(({ id }) => id === request.id)));
    // An earlier control may have asked for these.
    const replaced = slots
      .flatMap(({ id }) => getSlotHistory(registry, id).deaths)
      .filter(({ cause, atMs }) => cause === 'unhealthy' && isRecent(atMs)).length;
    const wanted = slots.filter(({ want }) => want === 'up').length;
    return judgeHealth(
      { patients, wanted, isCluster: mode === 'cluster', hangTimeoutMs, asked, replaced },
      { signs, fromMs: firstMs ?? nowMs },
      nowMs,
    );
  }

  /** @param {string} instanceId */
  function getDueMs(instanceId) {
    const verdict = verdicts.get(instanceId);
    return verdict && 'atMs' in verdict ? verdict.atMs : Infinity;
  }

  /**
   * @param {WorkerFacts} worker
   * @param {number} nowMs
   */
  function ask(worker, nowMs) {
    const { name, id } = worker;
    const instanceId = /** @type {string} */ (worker.instanceId);
    const request = { id, atMs: nowMs, hasFailed: false };
    requests.set(instanceId, request);
    replace(name, id, {
      reason: describeIllness(worker, nowMs),
      isDue: () => getDueMs(instanceId) < Infinity,
      onEnd(end) {
        request.hasFailed = end === 'failed';
        if (end === 'nothing') requests.delete(instanceId);
      },
    });
  }

  /** @param {number} nowMs */
  function markHung(nowMs) {
    const isHung = (/** @type {string} */ id) => signs.get(id)?.kind === 'loop-blocked' && getDueMs(id) <= nowMs;
    const next = new Set([...signs.keys()].filter(isHung));
    for (const instanceId of new Set([...hung, ...next])) {
      const instance = registry.instances.get(instanceId);
      if (instance) instance.isHung = next.has(instanceId);
    }
    hung = next;
  }

  return {
    /**
     * @param {AppFacts[]} apps
     * @param {number} nowMs
     */
    look(apps, nowMs) {
      firstMs ??= nowMs;
      const online = apps.map(({ workers }) =>
        workers.filter(({ status, instanceId }) => status === 'online' && instanceId !== null),
      );
      const sick = online.flatMap((workers) => workers.filter((worker) => findSign(worker, nowMs)));
      const tables = readTables(sick.map(({ pid }) => pid));
      /** @type {Signs} */
      const found = new Map();
      verdicts = new Map();
      for (const [at, workers] of online.entries()) {
        if (!workers.some((worker) => sick.includes(worker))) continue;
        const patients = workers.map((worker) => examine(worker, tables));
        const own = assess(registry.desired.apps[at], patients, nowMs);
        for (const [instanceId, sign] of own.signs) found.set(instanceId, sign);
        for (const [instanceId, verdict] of own.verdicts) verdicts.set(instanceId, verdict);
      }
      signs = found;
      markHung(nowMs);
      for (const [at, workers] of online.entries()) {
        const due = workers.find(
          ({ instanceId }) => getDueMs(instanceId ?? '') <= nowMs && !requests.has(instanceId ?? ''),
        );
        if (due && !registry.desired.apps[at].rollout.isGuarded) ask(due, nowMs);
      }
    },
    /** @param {string} instanceId @returns {Replacement | null} */
    of: (instanceId) => verdicts.get(instanceId) ?? null,
    /** @param {number} ms  By which the clock of the machine has jumped. */
    moveTimes(ms) {
      signs = new Map(
        [...signs].map(([instanceId, sign]) => [
          instanceId,
          { ...sign, sinceMs: sign.sinceMs + ms, seenMs: sign.seenMs + ms },
        ]),
      );
      for (const request of requests.values()) request.atMs += ms;
      if (firstMs !== null) firstMs += ms;
    },
  };
}
