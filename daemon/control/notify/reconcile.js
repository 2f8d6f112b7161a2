// Knows: which receiver has been told of which trouble, and what it has to be told now. Must not:
// read a clock or a file, or send anything.
// Start at: reconcile(). It compares states, not events, so a missed event changes nothing.

/** @import { NotifyOptions } from '../../../lib/shared/settings/notify-keys.js' */
/** @import { Level, Trouble } from '../../../lib/shared/troubles.js' */

/**
 * @typedef {NotifyOptions & {
 *   source: string,
 *   apps: string[],
 *   isOfApp: boolean,
 *   appliesTo: (app: string) => boolean,
 *   hasManager: boolean,
 * }} Rule  Where a receiver is named. `source`: the name of the setting or of the app. `hasManager`:
 *   it is also told of deaths of the manager's processes.
 */

/**
 * @typedef {object} Told
 * @property {Trouble} trouble  As last seen, without its evidence.
 * @property {Level} level  The worst that was told.
 * @property {number} atMs  When it was told last.
 * @property {number} repeated
 * @property {boolean} [isRestored]  An earlier control told it, and this one has not seen it yet.
 */

/** @typedef {Record<string, Told>} Ledger  By id of the trouble. */

/** @typedef {{ event: 'began' | 'ended', trouble: Trouble, repeated: number }} News */

/** Without evidence for this long, a trouble of an earlier control is over. As in the judge. */
const RESTORED_MS = 35_000;

/** One pass makes at most this many messages, so that a storm does not stop control. */
export const NEWS_MAX = 20;

/**
 * @param {Ledger} told
 * @param {object} now
 * @param {Trouble[]} now.open  All open troubles.
 * @param {Rule[]} now.rules  Of one receiver.
 * @param {number} now.nowMs
 * @param {number} now.sinceMs  When this control began to judge.
 * @returns {{ told: Ledger, news: News[] }}  After NEWS_MAX news, the rest follows with the next
 *   call.
 */
export function reconcile(told, { open, rules, nowMs, sinceMs }) {
  /** @type {News[]} */
  const news = [];
  /** @type {Ledger} */
  const next = {};
  const ids = new Set(open.map(({ id }) => id));
  for (const [id, was] of Object.entries(told)) {
    if (ids.has(id)) continue;
    const isKept = was.isRestored && nowMs - sinceMs < RESTORED_MS;
    if (isKept || news.length >= NEWS_MAX) next[id] = was;
    else news.push({ event: 'ended', trouble: was.trouble, repeated: 0 });
  }
  for (const trouble of open) {
    const { id, level } = trouble;
    const was = told[id];
    const isDue = news.length < NEWS_MAX && isNews(trouble, was, rules, nowMs);
    if (was) next[id] = { ...was, trouble: withoutEvidence(trouble), isRestored: undefined };
    if (!isDue) continue;
    const repeated = was && !isWorse(trouble, was) ? was.repeated + 1 : 0;
    next[id] = { trouble: withoutEvidence(trouble), level, atMs: nowMs, repeated };
    news.push({ event: 'began', trouble, repeated });
  }
  return { told: next, news };
}

/**
 * @param {Trouble} trouble
 * @param {Told | undefined} was
 * @param {Rule[]} rules
 * @param {number} nowMs
 */
function isNews(trouble, was, rules, nowMs) {
  const { app, level, sinceMs } = trouble;
  return rules.some(
    (rule) =>
      (level === 'bad' || rule.level === 'warn') &&
      rule.appliesTo(app) &&
      (was
        ? isWorse(trouble, was) || (rule.repeatMs > 0 && nowMs - was.atMs >= rule.repeatMs)
        : nowMs - sinceMs >= rule.afterMs),
  );
}

/**
 * @param {Trouble} trouble
 * @param {Told} was
 */
function isWorse({ level }, was) {
  return level === 'bad' && was.level === 'warn';
}

/**
 * @param {Trouble} trouble
 * @returns {Trouble}
 */
function withoutEvidence(trouble) {
  return { ...trouble, evidence: null };
}
