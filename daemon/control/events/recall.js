/** @import { LoggedEvent } from '../../../lib/shared/event-log.js' */

/** Processes remembered. A control that begins learns again of those that live, and of deaths that nobody has noted. */
const LIVING_KEPT = 2_000;
const DEAD_KEPT = 500;

/** Events of rollouts remembered. */
const ROLLOUTS_KEPT = 1_000;

/** What happens once in the life of a process. */
const OF_INSTANCE = ['started', 'ready', 'died', 'backoff', 'gave-up', 'done', 'rollout:canary', 'rollout:step'];

const DIED = 1 << OF_INSTANCE.indexOf('died');

/** What happens once in a rollout. */
const OF_ROLLOUT = new Set(['rollout:window', 'rollout:done', 'rollout:halted', 'rollout:rolled-back']);

/**
 * Knows which events the log has.
 * @param {LoggedEvent[]} past  Oldest first.
 */
export function createRecall(past) {
  /** Of each process a bit for each type: a busy home has thousands. @type {Map<string, number>} */
  const living = new Map();
  /** @type {Map<string, number>} */
  const dead = new Map();
  /** @type {Set<string>} */
  const rollouts = new Set();
  /** @type {Map<string, number>} */
  const generations = new Map();

  /** @param {LoggedEvent} event  @returns {boolean}  False when it is in the log. From then on it is. */
  function isNew(event) {
    const { type, instanceId, app = '', generation } = event;
    if (OF_INSTANCE.includes(type) && instanceId && !noteOfInstance(instanceId, 1 << OF_INSTANCE.indexOf(type))) return false;
    if (OF_ROLLOUT.has(type) && !noteOfRollout(`${type} ${app}\t${generation}`)) return false;
    if (type === 'added' || type === 'deleted') forget(app);
    if ((type === 'added' || type === 'rollout:began') && generation !== undefined) generations.set(app, generation);
    return true;
  }

  /** @param {string} instanceId @param {number} bit */
  function noteOfInstance(instanceId, bit) {
    const bits = living.get(instanceId) ?? dead.get(instanceId) ?? 0;
    if (bits & bit) return false;
    const [kept, most] = (bits | bit) & DIED ? [dead, DEAD_KEPT] : [living, LIVING_KEPT];
    if (kept === dead) living.delete(instanceId);
    kept.set(instanceId, bits | bit);
    if (kept.size > most) kept.delete(/** @type {string} */ (kept.keys().next().value));
    return true;
  }

  /** @param {string} identity */
  function noteOfRollout(identity) {
    if (rollouts.has(identity)) return false;
    rollouts.add(identity);
    if (rollouts.size > ROLLOUTS_KEPT) rollouts.delete(/** @type {string} */ (rollouts.values().next().value));
    return true;
  }

  /** Another app of the same name counts its generations anew. @param {string} app */
  function forget(app) {
    generations.delete(app);
    for (const identity of rollouts) if (identity.includes(` ${app}\t`)) rollouts.delete(identity);
  }

  for (const event of past) isNew(event);
  return { isNew, generationOf: (/** @type {string} */ app) => generations.get(app) ?? null };
}
