/** @import { LoggedEvent } from '../../../lib/shared/event-log.js' */

/** Events remembered, several for each process. A control that begins learns again only of processes that are there. */
const REMEMBERED = 4_000;

/** What happens once in the life of a process. */
const OF_INSTANCE = new Set(['started', 'ready', 'died', 'backoff', 'gave-up', 'done', 'rollout:canary', 'rollout:step']);

/** What happens once in a rollout. */
const OF_ROLLOUT = new Set(['rollout:window', 'rollout:done', 'rollout:halted', 'rollout:rolled-back']);

/**
 * What makes an event the same as another, or null when it is always another one.
 * @param {LoggedEvent} event
 * @returns {string|null}
 */
export function identityOf({ type, instanceId, app, generation }) {
  if (OF_INSTANCE.has(type) && instanceId) return `${type} ${instanceId}`;
  return OF_ROLLOUT.has(type) ? `${type} ${app}\t${generation}` : null;
}

/**
 * Knows which events the log has.
 * @param {LoggedEvent[]} past  Oldest first.
 */
export function createRecall(past) {
  /** @type {Set<string>} */
  const known = new Set();
  /** @type {Map<string, number>} */
  const generations = new Map();

  /** @param {LoggedEvent} event  @returns {boolean}  False when it is in the log. From then on it is. */
  function isNew(event) {
    const identity = identityOf(event);
    if (identity && known.has(identity)) return false;
    if (identity) known.add(identity);
    if (known.size > REMEMBERED) known.delete(/** @type {string} */ (known.values().next().value));
    const { type, app = '', generation } = event;
    if (type === 'added' || type === 'deleted') forget(app);
    if ((type === 'added' || type === 'rollout:began') && generation !== undefined) generations.set(app, generation);
    return true;
  }

  /** Another app of the same name counts its generations anew. @param {string} app */
  function forget(app) {
    generations.delete(app);
    for (const identity of known) if (identity.includes(` ${app}\t`)) known.delete(identity);
  }

  for (const event of past) isNew(event);
  return { isNew, generationOf: (/** @type {string} */ app) => generations.get(app) ?? null };
}
