// Knows: what is wrong with an app, and since when: two tables of kinds (process-kinds.js,
// worker-kinds.js), and the rule when a trouble begins and ends. Must not: read a process, a file
// or a clock, send anything, or act.
// Start at: judge(). facts.js collects what it judges; troubles.js runs it.
import { PROCESS_KINDS } from './process-kinds.js';
import { WORKER_KINDS } from './worker-kinds.js';

/** @import { Kind, Level, Trouble } from '../../../lib/shared/troubles.js' */
/** @import { AppFacts } from './facts.js' */

/**
 * @typedef {object} Finding  What a row has found.
 * @property {number[]} slots  Empty: the app as a whole.
 * @property {any} evidence
 * @property {number} [times]
 * @property {number} [sinceMs]  Default: when the row has found it first.
 * @property {Level} [level]  Default: that of the row.
 */

/** @typedef {(app: AppFacts, nowMs: number) => Finding | null | false} Look */

/**
 * @typedef {object} KindRow
 * @property {Level} level
 * @property {Look} begins
 * @property {Look} [holds]  After the beginning. Default: `begins`.
 * @property {number} [afterMs]  It has to be found for this long. Default: 0.
 * @property {boolean} [isConfirmed]  It has to be found again after CONFIRM_MS, because control reads
 *   late what has arrived when it gets no CPU.
 * @property {number} [lullMs]  It ends when it was not found for this long. Default: 0.
 * @property {Kind[]} [unless]  If one of these is found in the app, this is its consequence.
 */

/**
 * @typedef {object} Standing  What is known of one kind in one app.
 * @property {number} foundMs  When it was found first, without a gap.
 * @property {number} lookedMs  The first look that has found it, without a gap.
 * @property {number} lastMs
 * @property {Trouble | null} trouble  Null: it has not lasted long enough.
 * @property {boolean} [isRestored]  An earlier control found it. This one has to measure first.
 */

/** @typedef {Map<string, Standing>} Standings  By id. */

const RESTORED_LULL_MS = 30_000;

/** The looks of two ticks are further apart, and a look after an event is sooner. */
const CONFIRM_MS = 500;

/** @type {Record<Kind, KindRow>} */
const KINDS = { ...PROCESS_KINDS, ...WORKER_KINDS };

const ROWS = /** @type {[Kind, KindRow][]} */ (Object.entries(KINDS));

/** @typedef {{ hasBegun: boolean, trouble: Trouble }} Change  hasBegun: false: it has ended. */

/**
 * @param {AppFacts[]} apps
 * @param {Standings} before
 * @param {number} nowMs  Wall clock.
 * @returns {{ standings: Standings, changes: Change[] }}
 */
export function judge(apps, before, nowMs) {
  /** @type {Standings} */
  const standings = new Map(
    apps.flatMap((app) =>
      listFindings(app, before, nowMs).flatMap(([kind, finding]) => {
        if (!finding && before.size === 0) return [];
        const id = getId(app, kind);
        const standing = update({ id, kind, app, finding }, before.get(id), nowMs);
        return standing ? [[id, standing]] : [];
      }),
    ),
  );
  return { standings, changes: [...listNew(standings, before, true), ...listNew(before, standings, false)] };
}

/**
 * @param {AppFacts} app
 * @param {Kind} kind
 */
function getId({ name, createdAtMs }, kind) {
  return `${name}:${createdAtMs}:${kind}`;
}

/**
 * @param {AppFacts} app
 * @param {Standings} before
 * @param {number} nowMs
 * @returns {[Kind, Finding | null][]}
 */
function listFindings(app, before, nowMs) {
  const found = ROWS.map(([kind, { begins, holds = begins }]) => {
    // Usually nothing is wrong. Then no id is made, because that takes longer than to judge.
    const look = before.size > 0 && before.get(getId(app, kind))?.trouble ? holds : begins;
    return /** @type {[Kind, Finding | null]} */ ([kind, look(app, nowMs) || null]);
  });
  const kinds = new Set(found.flatMap(([kind, finding]) => (finding ? kind : [])));
  if (kinds.size === 0) return found;
  return found.map(([kind, finding]) => [kind, KINDS[kind].unless?.some((one) => kinds.has(one)) ? null : finding]);
}

/**
 * @param {{ id: string, kind: Kind, app: AppFacts, finding: Finding | null }} now
 * @param {Standing | undefined} before
 * @param {number} nowMs
 * @returns {Standing | null}
 */
function update({ id, kind, app, finding }, before, nowMs) {
  const { level, afterMs = 0, isConfirmed = false, lullMs = 0 } = KINDS[kind];
  if (!finding) {
    const keptMs = before?.isRestored ? Math.max(RESTORED_LULL_MS, lullMs) : lullMs;
    return before?.trouble && nowMs - before.lastMs < keptMs ? before : null;
  }
  const foundMs = before?.foundMs ?? finding.sinceMs ?? nowMs;
  const lookedMs = before?.lookedMs ?? nowMs;
  const isTooNew = nowMs - foundMs < afterMs || (isConfirmed && nowMs - lookedMs < CONFIRM_MS);
  if (!before?.trouble && isTooNew) return { foundMs, lookedMs, lastMs: nowMs, trouble: null };
  const { slots, evidence, times = 1, sinceMs = foundMs } = finding;
  return {
    foundMs,
    lookedMs,
    lastMs: nowMs,
    trouble: {
      ...{ id, kind, level: finding.level ?? level, app: app.name, slots },
      sinceMs: before?.trouble?.sinceMs ?? sinceMs,
      times: Math.max(times, before?.trouble?.times ?? 1),
      evidence,
    },
  };
}

/**
 * @param {Standings} these
 * @param {Standings} those
 * @param {boolean} hasBegun
 * @returns {Change[]}
 */
function listNew(these, those, hasBegun) {
  return [...these].flatMap(([id, { trouble }]) => (trouble && !those.get(id)?.trouble ? { hasBegun, trouble } : []));
}
