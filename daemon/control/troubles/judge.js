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
 * @property {number} [lullMs]  It ends when it was not found for this long. Default: 0.
 * @property {(evidence: any, before: any) => any} [carry]  Adds what earlier evidence has, while the
 *   trouble lasts.
 * @property {Kind[]} [unless]  If one of these is found in the app, this is its consequence.
 */

/**
 * @typedef {object} Standing  What is known of one kind in one app.
 * @property {number} foundMs  When it was found first, without a gap.
 * @property {number} lastMs
 * @property {Trouble | null} trouble  Null: it has not lasted long enough.
 * @property {boolean} [isRestored]  Found by an earlier control, or before a pause: it has to be
 *   measured again.
 */

/** @typedef {Map<string, Standing>} Standings  By id. */

/** Longer than it takes to find any kind that is still there, and than its lull. */
export const RESTORED_LULL_MS = 60_000;

/** @type {Record<Kind, KindRow>} */
const KINDS = { ...PROCESS_KINDS, ...WORKER_KINDS };

/** @type {Standings} */
const NONE = new Map();

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
  const standings = new Map();
  const known = new Set([...before.keys()].map((id) => id.slice(0, id.lastIndexOf(':'))));
  for (const app of apps) {
    // Usually nothing is wrong. Then no ids are made, because that takes longer than to judge.
    const own = known.size > 0 && known.has(getKey(app)) ? before : NONE;
    const found = listFindings(app, own, nowMs);
    if (own.size === 0 && found.size === 0) continue;
    for (const [kind] of ROWS) {
      const id = getId(app, kind);
      const standing = update({ id, kind, app, finding: found.get(kind) ?? null }, own.get(id), nowMs);
      if (standing) standings.set(id, standing);
    }
  }
  return { standings, changes: [...listNew(standings, before, true), ...listNew(before, standings, false)] };
}

/** @param {AppFacts} app */
function getKey({ name, createdAtMs }) {
  return `${name}:${createdAtMs}`;
}

/**
 * @param {AppFacts} app
 * @param {Kind} kind
 */
function getId(app, kind) {
  return `${getKey(app)}:${kind}`;
}

/**
 * @param {AppFacts} app
 * @param {Standings} before
 * @param {number} nowMs
 * @returns {Map<Kind, Finding>}
 */
function listFindings(app, before, nowMs) {
  /** @type {Map<Kind, Finding>} */
  const found = new Map();
  for (const [kind, { begins, holds = begins }] of ROWS) {
    const look = before.size > 0 && before.get(getId(app, kind))?.trouble ? holds : begins;
    const finding = look(app, nowMs);
    if (finding) found.set(kind, finding);
  }
  if (found.size < 2) return found;
  return new Map([...found].filter(([kind]) => !KINDS[kind].unless?.some((one) => found.has(one))));
}

/**
 * @param {{ id: string, kind: Kind, app: AppFacts, finding: Finding | null }} now
 * @param {Standing | undefined} before
 * @param {number} nowMs
 * @returns {Standing | null}
 */
function update({ id, kind, app, finding }, before, nowMs) {
  const { level, afterMs = 0, lullMs = 0, carry = (now) => now } = KINDS[kind];
  if (!finding) {
    const keptMs = before?.isRestored ? Math.max(RESTORED_LULL_MS, lullMs) : lullMs;
    return before?.trouble && nowMs - before.lastMs < keptMs ? before : null;
  }
  const foundMs = before?.foundMs ?? finding.sinceMs ?? nowMs;
  if (!before?.trouble && nowMs - foundMs < afterMs) return { foundMs, lastMs: nowMs, trouble: null };
  const { slots, evidence, times = 1, sinceMs = foundMs } = finding;
  return {
    foundMs,
    lastMs: nowMs,
    trouble: {
      ...{ id, kind, level: finding.level ?? level, app: app.name, slots },
      sinceMs: before?.trouble?.sinceMs ?? sinceMs,
      times: Math.max(times, before?.trouble?.times ?? 1),
      evidence: carry(evidence, before?.trouble?.evidence ?? {}),
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
