import { isCrash } from '../../../lib/shared/death-text.js';
import { findErrorLine } from '../../../lib/shared/logs/error-line.js';

/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { Death } from '../../../lib/shared/wire/protocol.js' */
/** @import { Asked, Life } from '../policy/seat.js' */

const DEATHS_KEPT = 10;

/**
 * The keeper stores the history in a note, so that the history survives control.
 * @typedef {object} SlotHistory
 * @property {number} spawns
 * @property {number} resetAt  The value of `spawns` at which the restart counter is 0. If an
 *   instance of a reload never serves, the value rises, because its start is not a restart.
 * @property {RecordedDeath[]} deaths  Oldest first.
 * @property {SeatHistory | null} seat  The last changed seat without a living instance.
 * @property {{ generation: number, isOk: boolean } | null} ended  Null: the program did not finish.
 * @property {Record<string, EndRequest>} asked  By instanceId.
 * @property {number} [crashes]  Since the slot was started from rest, or reset.
 * @property {Record<string, number>} [onlineSinceMs]  By instanceId: when it was ready.
 * @property {Served | null} [served]  Responses of instances that are gone.
 * @property {Spent} [spent]
 * @property {boolean} [hasSentReady]  An instance has sent `ready`.
 * @property {boolean} [isAtRest]  Stopped, finished or failed: the next start is not a restart.
 * @property {boolean} [hasNoChannel]  The next instance gets no IPC channel.
 * @property {boolean} isStray  The list may have lost the slot. Control leaves its process alone.
 */

/** @typedef {Death & { instanceId: string }} RecordedDeath */

/**
 * @typedef {Asked & { atMs?: number, killAtMs?: number }} EndRequest  The reason for a retirement,
 *   when it began, and when SIGKILL follows. An earlier version has stored no times.
 */

/**
 * @typedef {object} SeatHistory
 * @property {number} generation
 * @property {Life['state']} state
 * @property {number} streak
 * @property {number[]} unstableAtMs
 * @property {boolean} hasFailed
 * @property {number | null} untilMs  When the back-off ends, wall clock.
 */

/**
 * Sums of the gone instances of a slot. They are stored with the slot, so they outlive control.
 * @typedef {object} Served
 * @property {string[]} from  Instances that are included and that the keeper may report again.
 * @property {number} requests
 * @property {number} aborted
 * @property {number} upgrades
 * @property {number[]} responses
 * @property {number} durationMs
 * @property {number[]} latency  Pairs, as in a report.
 */

/**
 * @typedef {{ from: string[], ms: number }} Spent  CPU time of the gone instances of a slot.
 *   `from`: instances that `ms` already includes and that the keeper may report again.
 */

/** @returns {SlotHistory} */
export function newSlotHistory() {
  return { spawns: 0, resetAt: 0, deaths: [], seat: null, ended: null, asked: {}, isStray: false };
}

/** @param {number} id */
export function noteKey(id) {
  return `slot:${id}`;
}

/** @param {string} key */
export function parseNoteKey(key) {
  const match = /^slot:(\d+)$/.exec(key);
  return match ? Number(match[1]) : null;
}

/**
 * Adds missing fields, because a note of an earlier version may lack fields.
 * @param {unknown} note
 */
export function readNote(note) {
  const history = typeof note === 'object' && note !== null ? { ...newSlotHistory(), ...note } : newSlotHistory();
  return { ...history, deaths: history.deaths.map(addWords) };
}

/**
 * @param {RecordedDeath} death
 * @returns {RecordedDeath}
 */
function addWords(death) {
  return death.words === undefined ? { ...death, words: findErrorLine(death.lastLines)?.line } : death;
}

/**
 * @param {SlotHistory} history
 * @param {RecordedDeath} death
 */
export function recordDeath(history, death) {
  history.deaths = [...history.deaths, death].slice(-DEATHS_KEPT);
}

/**
 * @param {SlotHistory} history
 * @param {string} instanceId
 * @param {Asked} asked
 * @param {{ nowMs: number, killTimeoutMs: number }} o
 */
export function recordRequest(history, instanceId, asked, { nowMs, killTimeoutMs }) {
  // A second request only brings the deadline of the first one forward.
  const { atMs = nowMs, killAtMs = Infinity } = history.asked[instanceId] ?? {};
  const request = { ...asked, atMs, killAtMs: Math.min(killAtMs, nowMs + killTimeoutMs) };
  history.asked = { ...history.asked, [instanceId]: request };
}

/**
 * Also forgets the instances that are gone.
 * @param {SlotHistory} history
 * @param {string} instanceId
 * @param {number | null} atMs  Null: it was not ready after all.
 * @param {{ has: (instanceId: string) => boolean }} instances
 */
export function recordOnline(history, instanceId, atMs, instances) {
  const others = Object.entries(history.onlineSinceMs ?? {}).filter(([id]) => id !== instanceId && instances.has(id));
  history.onlineSinceMs = Object.fromEntries(atMs === null ? others : [...others, [instanceId, atMs]]);
}

/**
 * @param {SlotHistory} history
 * @param {string} instanceId
 */
export function hasRecorded(history, instanceId) {
  return history.deaths.some((death) => death.instanceId === instanceId);
}

/**
 * Call this once for each new instance that a reload started and that never served. The old
 * instance served all the time, so this start is not a restart.
 * @param {SlotHistory} history
 * @param {number} spawns  From the label of the instance. Ignored if the counter was reset later.
 */
export function excludeSpawn(history, spawns) {
  if (history.resetAt < spawns) history.resetAt = Math.max(1, history.resetAt) + 1;
}

/**
 * Counts a start of the slot. As in PM2, the start of a slot that did not run is not a restart.
 * @param {SlotHistory} history
 */
export function countSpawn(history) {
  history.spawns += 1;
  if (history.isAtRest) {
    excludeSpawn(history, history.spawns);
    history.crashes = 0;
  }
  history.isAtRest = false;
}

/**
 * Counts an exit, unless a user or a rollout asked for it, a signal caused it, or the program
 * finished its work.
 * @param {SlotHistory} history
 * @param {RecordedDeath} death
 * @param {Pick<AppSpec, 'autorestart' | 'stopExitCodes'> | null | undefined} spec
 */
export function countCrash(history, death, spec) {
  const { instanceId, code } = death;
  const isFinish = code !== null && ((code === 0 && spec?.autorestart === false) || spec?.stopExitCodes.includes(code));
  // A slot that is stopped before its process exists has a death with another cause.
  if (isFinish || !isCrash(history.asked[instanceId] ?? death)) return;
  history.crashes = (history.crashes ?? 0) + 1;
}

/** @param {SlotHistory} history */
export function resetCounters(history) {
  history.resetAt = history.spawns;
  history.crashes = 0;
}

/**
 * Counts the restarts, by the policy or by command, since the slot was made or reset.
 * @param {SlotHistory} history
 * @param {number} keptOut  New instances of a reload that do not serve yet.
 */
export function countRestarts(history, keptOut) {
  return Math.max(0, history.spawns - Math.max(1, history.resetAt) - keptOut);
}

/**
 * @param {SlotHistory} history
 * @param {string} instanceId
 */
export function forgetAsked(history, instanceId) {
  const { [instanceId]: _, ...rest } = history.asked;
  history.asked = rest;
}
