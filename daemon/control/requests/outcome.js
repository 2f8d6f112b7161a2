// Knows: what a request promised: receipt, progress, outcome; the start of a reload.
// Must not: remember what happened: it looks at how things stand.
// Start at: outcomeOf(), then waiters.js; reload.js begins a reload for users and triggers.
import { adviceOn, describeDeath } from '../../../lib/shared/death-text.js';
import { NclustError } from '../../../lib/shared/errors.js';
import { shellQuote } from '../../../lib/shared/shell-quote.js';
import { findSlot, hasProcess, memoryOf, occupiedSlots, seatsOfSlot } from '../state/registry.js';

/** @import { NotUp, PlanItem } from '../../../lib/shared/wire/protocol.js' */
/** @import { AppWish, SlotWish } from '../state/desired.js' */
/** @import { World } from '../state/registry.js' */

/**
 * What a mutation has promised. It is written into the state file with the change itself, so that a
 * request that is sent again, to this control or to the next one, is waited for and not done twice.
 * @typedef {object} Receipt
 * @property {string} token
 * @property {string} method
 * @property {{ id: number, generation: number }[]} up
 * @property {number[]} gone
 * @property {{ id: number, name: string, slot: number }[]} about  The slots to show in the answer.
 * @property {string} [root]  Of an update: the installation that was asked for.
 * @property {PlanItem[]} [plan]  Of an apply: what it set out to do.
 */

/**
 * `failure` when a rollout did not come about.
 * @typedef {{ state: 'pending' }
 *   | { state: 'done' }
 *   | { state: 'failed', notUp: NotUp[], failed?: AppWish }} Outcome
 */

/** Receipts kept. A client sends again within seconds. */
export const RECEIPTS_KEPT = 200;

const DELETED = 'was deleted by another command';
/** Why is not known any more: the rollout that was halted has been followed by another. */
const GIVEN_BACK = 'was given its old code back, and another command came since';

/**
 * How far a mutation has come. Level-triggered: it looks at what is, not at what happened since.
 * @param {World} world
 * @param {Receipt} receipt
 * @returns {Outcome}
 */
export function outcomeOf(world, { up, gone, method, about }) {
  const halted = up.map(({ id, generation }) => haltedApp(world, id, generation)).find((app) => app !== null);
  if (halted)
    return isAtRest(world, halted)
      ? { state: 'failed', notUp: halted.rollout.failure?.slots ?? [], failed: halted }
      : { state: 'pending' };
  const outcomes = up.map(({ id, generation }) => slotOutcome(world, id, generation, method));
  const notUp = outcomes.flatMap((outcome) =>
    outcome.state === 'failed' ? outcome.notUp.map((one) => asAsked(one, about)) : [],
  );
  if (notUp.length > 0) return { state: 'failed', notUp };
  const occupied = gone.length > 0 ? occupiedSlots(world) : null;
  // A slot that should be gone and has been started again by somebody else is not waited for.
  const isStillThere = (/** @type {number} */ id) => occupied?.has(id) && findSlot(world, id)?.wish.want !== 'up';
  const isPending = outcomes.some((outcome) => outcome.state === 'pending') || gone.some(isStillThere);
  return { state: isPending ? 'pending' : 'done' };
}

/**
 * A slot that is not in the list any more has the name it had.
 * @param {NotUp} notUp
 * @param {Receipt['about']} about
 */
function asAsked(notUp, about) {
  const place = about.find(({ id }) => id === notUp.id);
  return notUp.name === '' && place ? { ...notUp, name: place.name, slot: place.slot } : notUp;
}

/**
 * The app of a slot that has been given back an older generation than was asked for.
 * @param {World} world
 * @param {number} id
 * @param {number} generation
 */
function haltedApp(world, id, generation) {
  const found = findSlot(world, id);
  return found && found.wish.generation < generation && found.app.rollout.failure ? found.app : null;
}

/**
 * Whether all that should serve does again, or cannot: until then it cannot be said what runs.
 * @param {World} world
 * @param {AppWish} app
 */
function isAtRest(world, { slots }) {
  return slots
    .filter((slot) => slot.want === 'up')
    .every((slot) => {
      const life = standing(world, slot)?.life;
      return life !== undefined && (life.state === 'up' || life.state === 'failed' || life.hasFailed);
    });
}

/**
 * The seat that is wanted, or the one before it: where a restart has failed in another slot, this
 * one has not been begun, and goes on as it was.
 * @param {World} world
 * @param {SlotWish} wish
 */
function standing(world, { id, generation }) {
  return seatsOfSlot(world, id)
    .filter((seat) => seat.generation <= generation)
    .at(-1);
}

/**
 * @param {World} world
 * @param {number} id
 * @param {number} generation  At least.
 * @param {string} method
 * @returns {Outcome}
 */
function slotOutcome(world, id, generation, method) {
  const found = findSlot(world, id);
  if (!found) return failure(world, id, DELETED);
  const { ended } = memoryOf(world, id);
  if (ended && ended.generation >= generation) {
    if (!ended.isOk) return failure(world, id, lastDeath(world, id));
    // What somebody has started again since is not waited for.
    return { state: found.wish.generation <= ended.generation && hasProcess(world, id) ? 'pending' : 'done' };
  }
  if (found.wish.want === 'down') return failure(world, id, 'was stopped by another command');
  if (found.wish.generation < generation) return failure(world, id, GIVEN_BACK);
  const seat = standing(world, found.wish);
  const life = seat && seat.generation >= generation ? seat.life : undefined;
  if (life?.state === 'up') return { state: isReplacing(world, found.wish, method) ? 'pending' : 'done' };
  const hasFailed = life && (life.hasFailed || life.state === 'backoff' || life.state === 'failed');
  return hasFailed ? failure(world, id, lastDeath(world, id)) : { state: 'pending' };
}

/**
 * A reload is over when the old ones are gone: parked until the rollback window closes, or with
 * their last clients. An update of the manager replaces only the processes of a keeper that made
 * way.
 * @param {World} world
 * @param {SlotWish} wish
 * @param {string} method
 */
function isReplacing(world, { id, former }, method) {
  if (method === 'reload' || method === 'apply') return Boolean(former) || seatsOfSlot(world, id).length > 1;
  return (
    method === 'update' &&
    [...world.instances.values()].some((instance) => instance.label.id === id && instance.isOrphan)
  );
}

/**
 * @param {World} world
 * @param {number} id
 */
function lastDeath(world, id) {
  const death = memoryOf(world, id).deaths.at(-1);
  return death ? describeDeath(death, findSlot(world, id)?.app.spec ?? null) : 'did not get up';
}

/**
 * @param {World} world
 * @param {number} id
 * @param {string} reason
 * @returns {Outcome}
 */
function failure(world, id, reason) {
  const found = findSlot(world, id);
  const { lastLines = [], listenFailure } = memoryOf(world, id).deaths.at(-1) ?? {};
  const place = { id, name: found?.app.spec.name ?? '', slot: found?.wish.slot ?? 0 };
  return { state: 'failed', notUp: [{ ...place, reason, lastLines, ...(listenFailure ? { listenFailure } : {}) }] };
}

/**
 * @param {NotUp[]} notUp
 * @param {object} o
 * @param {number} o.wanted  How many slots the request is about.
 * @param {string} o.method
 */
export function notUpError(notUp, { wanted, method }) {
  const [first] = notUp;
  const name = first.name || `id ${first.id}`;
  const others = notUp.length > 1 ? ` (and ${notUp.length - 1} more of ${wanted})` : '';
  return new NclustError(
    'ERR_NCLUST_NOT_UP',
    `The ${method} of "${name}" failed: instance ${first.slot} ${first.reason}${others}.`,
    {
      hint:
        first.reason === DELETED
          ? 'See: nclust list'
          : `${first.listenFailure ? `${adviceOn(first.listenFailure)}. ` : ''}See: nclust logs ` +
            `${shellQuote(first.name || String(first.id))} and nclust describe ${first.id}`,
      data: { slots: notUp },
    },
  );
}
