// Knows: the troubles of which a receiver was notified, and the news for it now. Must not: read a
// clock or a file, or send a message.
// Start at: reconcile(). It compares states, not events, so a missed event changes nothing.
import { RESTORED_LULL_MS } from '../troubles/judge.js';

/** @import { NotifyOptions } from '../../../lib/shared/settings/notify-keys.js' */
/** @import { Level, Trouble } from '../../../lib/shared/troubles.js' */

/**
 * @typedef {NotifyOptions & {
 *   source: string,
 *   apps: string[],
 *   isOfApp: boolean,
 *   appliesTo: (app: string) => boolean,
 *   hasManager: boolean,
 * }} Rule  A place that names a receiver. `source`: the name of the setting or of the app.
 *   `hasManager`: also for deaths of the manager's processes.
 */

/**
 * @typedef {object} Notified
 * @property {Trouble} trouble  As last seen, without its evidence.
 * @property {Level} level  The worst level of which the receiver was notified.
 * @property {number} atMs  The time of the last message.
 * @property {number} repeated
 * @property {boolean} [isRestored]  An earlier control sent the message, and this one has
 *   not seen the trouble yet.
 */

/** @typedef {Record<string, Notified>} Ledger  By id of the trouble. */

/** @typedef {{ event: 'began' | 'ended', trouble: Trouble, repeated: number }} News */

/** One pass makes at most this many messages, so that a storm does not stop control. */
export const NEWS_MAX = 20;

/**
 * @param {Ledger} notified
 * @param {object} now
 * @param {Trouble[]} now.open  All open troubles.
 * @param {Rule[]} now.rules  Of one receiver.
 * @param {number} now.nowMs
 * @param {number} now.sinceMs  When this control began to judge.
 * @returns {{ notified: Ledger, news: News[] }}  After NEWS_MAX news, the rest follows with the next
 *   call.
 */
export function reconcile(notified, { open, rules, nowMs, sinceMs }) {
  /** @type {News[]} */
  const news = [];
  /** @type {Ledger} */
  const next = {};
  const ids = new Set(open.map(({ id }) => id));
  for (const [id, was] of Object.entries(notified)) {
    if (ids.has(id)) continue;
    const isKept = was.isRestored && nowMs - sinceMs < RESTORED_LULL_MS;
    if (isKept || news.length >= NEWS_MAX) next[id] = was;
    else news.push({ event: 'ended', trouble: was.trouble, repeated: 0 });
  }
  for (const trouble of open) {
    const { id, level } = trouble;
    const was = notified[id];
    const isDue = news.length < NEWS_MAX && isNews(trouble, was, rules, nowMs);
    if (was) next[id] = { ...was, trouble: withoutEvidence(trouble), isRestored: undefined };
    if (!isDue) continue;
    const repeated = was && !isWorse(trouble, was) ? was.repeated + 1 : 0;
    next[id] = { trouble: withoutEvidence(trouble), level, atMs: nowMs, repeated };
    news.push({ event: 'began', trouble, repeated });
  }
  return { notified: next, news };
}

/**
 * @param {Trouble} trouble
 * @param {Notified | undefined} was
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
 * @param {Notified} was
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
