import { MINUTE_MS } from './incidents.js';

/** @import { Kind } from '../../../lib/shared/troubles.js' */
/** @import { AppFacts } from './facts.js' */
/** @import { Finding, KindRow } from './judge.js' */
/** @import { WorkerFacts } from './worker-facts.js' */

/** Without an unplanned exit for this long, a crash loop is over. */
const CALM_MS = 10 * MINUTE_MS;

/** A program that waits should be up by now; one that computes or reads may load for longer. */
const START_WAITS_MS = 10_000;
const START_COMPUTES_MS = 30_000;

/** Replacements within CALM_MS. */
const OVER_LIMIT_TIMES = 3;

/** Idle connections alone stay open for 1.5 s, so that no request is lost. */
const STOP_HANGS_MS = 5_000;

/** An app that is up for this long listens, if it ever does. The sockets are read every 10 s. */
const SETTLED_MS = 15_000;

/** @satisfies {Partial<Record<Kind, KindRow>>} */
export const PROCESS_KINDS = {
  errored: {
    level: 'bad',
    unless: ['port-taken'],
    begins: (app) => findDeaths(app, (worker) => worker.status === 'errored'),
  },
  'port-taken': {
    level: 'bad',
    begins({ workers }) {
      const own = workers.filter(({ listenFailure }) => listenFailure !== null);
      return own.length > 0 && { slots: listSlots(own), evidence: { failure: own[0].listenFailure } };
    },
  },
  'crash-loop': {
    level: 'bad',
    unless: ['errored', 'port-taken'],
    begins(app, nowMs) {
      const { crashes } = app.incidents;
      if (crashes === null || crashes.times < 2 || nowMs - crashes.lastMs >= CALM_MS) return null;
      // An app that listens now is well. Until then it is `port-taken`.
      if (crashes.last.listenFailure) return null;
      return findDeaths(app, ({ slot }) => crashes.slots.includes(slot));
    },
  },
  'deploy-halted': {
    level: 'warn',
    begins: ({ incidents: { rollout } }) =>
      rollout !== null && {
        slots: [],
        sinceMs: rollout.at,
        evidence: {
          isRolledBack: rollout.type === 'rollout:rolled-back',
          reason: rollout.reason,
          words: rollout.words ?? null,
          frame: rollout.frame ?? null,
          generation: rollout.generation,
        },
      },
  },
  'slow-start': {
    level: 'warn',
    unless: ['crash-loop', 'port-taken'],
    begins({ workers }, nowMs) {
      const late = workers.filter((worker) => isLate(worker, nowMs));
      if (late.length === 0) return null;
      const sinceMs = Math.min(...late.map(({ startedAtMs }) => Number(startedAtMs)));
      return {
        slots: listSlots(late),
        sinceMs,
        evidence: { forMs: nowMs - sinceMs, isProgressing: late[0].isProgressing === true },
      };
    },
  },
  'stop-hangs': {
    level: 'warn',
    begins({ stops }, nowMs) {
      const own = stops.filter(({ signalledMs }) => nowMs - signalledMs > STOP_HANGS_MS);
      if (own.length === 0) return null;
      const [{ signal, signalledMs, killAtMs }] = own;
      return {
        slots: own.map(({ slot }) => slot),
        sinceMs: signalledMs,
        evidence: { signal, forMs: nowMs - signalledMs, killAtMs },
      };
    },
  },
  'lines-lost': {
    level: 'warn',
    begins: ({ losing }) => losing !== null && { slots: [], evidence: losing },
  },
  'memory-limit': {
    level: 'warn',
    begins({ incidents: { overLimit } }, nowMs) {
      const lately = overLimit.filter(({ at }) => nowMs - at < CALM_MS);
      if (lately.length < OVER_LIMIT_TIMES) return null;
      const [first, last] = [lately[0], lately[lately.length - 1]];
      return {
        slots: [...new Set(lately.flatMap(({ slot }) => slot ?? []))].sort((a, b) => a - b),
        sinceMs: first.at,
        times: lately.length,
        evidence: { firstMs: first.at, lastMs: last.at, by: last.by },
      };
    },
  },
  'trigger-failed': {
    level: 'warn',
    begins: ({ incidents: { failedTrigger } }) =>
      failedTrigger !== null && {
        slots: [],
        sinceMs: failedTrigger.at,
        evidence: { by: failedTrigger.by, message: failedTrigger.reason ?? failedTrigger.message },
      },
  },
  'socket-unserved': {
    level: 'warn',
    afterMs: SETTLED_MS,
    begins({ workers, sockets }) {
      const idle = sockets.find(({ isServed }) => !isServed);
      const isSettled = workers.every(({ status }) => status === 'online') || workers.every(isDown);
      return idle !== undefined && isSettled && { slots: [], evidence: { address: idle.address, port: idle.port } };
    },
  },
};

/**
 * @param {AppFacts} app
 * @param {(worker: WorkerFacts) => boolean} isMeant
 * @returns {Finding | null}
 */
function findDeaths({ workers, incidents: { crashes } }, isMeant) {
  const own = workers.filter(isMeant);
  if (own.length === 0) return null;
  return {
    slots: listSlots(own),
    ...(crashes
      ? {
          sinceMs: crashes.firstMs,
          times: crashes.times,
          evidence: { firstMs: crashes.firstMs, lastMs: crashes.lastMs, last: crashes.last },
        }
      : { evidence: {} }),
  };
}

/**
 * @param {WorkerFacts} worker
 * @param {number} nowMs
 */
function isLate({ status, startedAtMs, isProgressing }, nowMs) {
  if (status !== 'launching' || startedAtMs === null) return false;
  return nowMs - startedAtMs > (isProgressing ? START_COMPUTES_MS : START_WAITS_MS);
}

/** @param {WorkerFacts} worker */
function isDown({ status }) {
  return status === 'stopped' || status === 'errored';
}

/** @param {WorkerFacts[]} workers */
export function listSlots(workers) {
  return workers.map(({ slot }) => slot);
}
