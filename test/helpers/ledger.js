import { performance } from 'node:perf_hooks';

/**
 * @typedef {'ok' | 'refused' | 'reset' | 'hung' | 'truncated' | 'wrong' | 'status'} Bucket
 *   `hung`: no answer in time. `wrong`: an answer that the app did not send. `status`: not 200.
 */

/** @type {readonly Bucket[]} */
export const BUCKETS = ['ok', 'refused', 'reset', 'hung', 'truncated', 'wrong', 'status'];

/**
 * @typedef {object} Outcome
 * @property {Bucket} bucket
 * @property {string} detail
 * @property {number} [pid]
 * @property {string} [note]  An event that is counted although it is not an error.
 */

/**
 * @typedef {object} Failure
 * @property {Bucket} bucket
 * @property {number} atMs  Since the ledger was opened.
 * @property {string} detail
 * @property {string} kind
 */

/**
 * @typedef {object} Totals
 * @property {number} requests
 * @property {number[]} latenciesMs  One for each good answer.
 * @property {number} longestGapMs
 * @property {number} lastOkMono
 */

/** @typedef {Record<Bucket, number> & Totals} Counts  Every request is in exactly one bucket. */

/**
 * @typedef {object} Details
 * @property {number} startedMono
 * @property {Map<string, Counts>} kinds
 * @property {Failure[]} failures
 * @property {Map<number, number>} byPid
 * @property {Map<string, number>} notes
 */

/** @typedef {Counts & Details} Ledger */

export const NOTHING_LOST = { refused: 0, reset: 0, hung: 0, truncated: 0, wrong: 0, status: 0 };

/** @returns {Ledger} */
export function openLedger() {
  const startedMono = performance.now();
  return {
    ...emptyCounts(startedMono),
    startedMono,
    kinds: new Map(),
    failures: [],
    byPid: new Map(),
    notes: new Map(),
  };
}

/**
 * @param {Ledger} ledger
 * @param {string} kind
 * @param {Outcome} outcome
 * @param {number} sentMono
 */
export function enter(ledger, kind, { bucket, detail, pid, note }, sentMono) {
  const counts = ledger.kinds.get(kind) ?? emptyCounts(sentMono);
  ledger.kinds.set(kind, counts);
  const nowMono = performance.now();
  for (const one of [ledger, counts]) {
    one.requests += 1;
    one[bucket] += 1;
    if (bucket !== 'ok') continue;
    one.latenciesMs.push(nowMono - sentMono);
    one.longestGapMs = Math.max(one.longestGapMs, nowMono - one.lastOkMono);
    one.lastOkMono = nowMono;
  }
  if (bucket !== 'ok') ledger.failures.push({ bucket, atMs: sentMono - ledger.startedMono, detail, kind });
  if (pid !== undefined) ledger.byPid.set(pid, (ledger.byPid.get(pid) ?? 0) + 1);
  if (note !== undefined) ledger.notes.set(`${kind}: ${note}`, (ledger.notes.get(`${kind}: ${note}`) ?? 0) + 1);
}

/**
 * @param {Counts} counts
 * @returns {number}
 */
export const lost = (counts) => counts.requests - counts.ok;

/**
 * @param {Counts} counts
 * @param {number} share  0..1
 * @returns {number}  0 if there are no good answers.
 */
export function percentileMs({ latenciesMs }, share) {
  const times = [...latenciesMs].sort((a, b) => a - b);
  return times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
}

/**
 * @param {number} startedMono
 * @returns {Counts}
 */
function emptyCounts(startedMono) {
  return {
    requests: 0,
    ok: 0,
    refused: 0,
    reset: 0,
    hung: 0,
    truncated: 0,
    wrong: 0,
    status: 0,
    latenciesMs: [],
    longestGapMs: 0,
    lastOkMono: startedMono,
  };
}
