// Knows: the receipt, the progress and the outcome of a request, and how a reload starts. Must not:
// remember past events, because the outcome depends only on the current state.
import { adviseOnPort, describeEnd, quoteErrorLine } from '../../../lib/shared/death-text.js';
import { NclustError } from '../../../lib/shared/errors.js';
import { shellQuote } from '../../../lib/shared/shell-quote.js';
import { quoteDeath } from '../rollout/reload-error.js';
import { findSlot, hasProcess, getSlotHistory, occupiedSlots, listSeatsOfSlot } from '../state/registry.js';

/** @import { NotUp } from '../../../lib/shared/wire/protocol.js' */
/** @import { DesiredApp, DesiredSlot, Receipt } from '../state/desired.js' */
/** @import { Registry } from '../state/registry.js' */

/**
 * `failed`: the app whose rollout failed.
 * @typedef {{ state: 'pending' }
 *   | { state: 'done' }
 *   | { state: 'failed', notUp: NotUp[], failed?: DesiredApp }} Outcome
 */

/** Number of receipts to keep. It is enough, because a client repeats a request within seconds. */
export const RECEIPTS_KEPT = 200;

const DELETED = 'was deleted by another command';
/** Used if another rollout followed the halted rollout, because the reason is lost then. */
const SUPERSEDED_ROLLBACK = 'was rolled back, and another command has changed it since';

/**
 * @param {Registry} registry
 * @param {Receipt} receipt
 * @returns {Outcome}
 */
export function describeOutcome(registry, { up, gone, method, about }) {
  const halted = up.map(({ id, generation }) => haltedApp(registry, id, generation)).find((app) => app !== null);
  if (halted)
    return isAtRest(registry, halted)
      ? { state: 'failed', notUp: halted.rollout.failure?.slots ?? [], failed: halted }
      : { state: 'pending' };
  const outcomes = up.map(({ id, generation }) => slotOutcome(registry, id, generation, method));
  const notUp = outcomes.flatMap((outcome) =>
    outcome.state === 'failed' ? outcome.notUp.map((one) => withRequestedName(one, about)) : [],
  );
  if (notUp.length > 0) return { state: 'failed', notUp };
  const occupied = gone.length > 0 ? occupiedSlots(registry) : null;
  // Do not wait for the exit of a slot if another command has started it again.
  const isStillThere = (/** @type {number} */ id) => occupied?.has(id) && findSlot(registry, id)?.slot.want !== 'up';
  const isPending = outcomes.some((outcome) => outcome.state === 'pending') || gone.some(isStillThere);
  return { state: isPending ? 'pending' : 'done' };
}

/**
 * @param {NotUp} notUp
 * @param {Receipt['about']} about
 */
function withRequestedName(notUp, about) {
  const place = about.find(({ id }) => id === notUp.id);
  return notUp.name === '' && place ? { ...notUp, name: place.name, slot: place.slot } : notUp;
}

/**
 * Returns the app if its rollout failed, and the slot went back to an older generation than the
 * requested generation. Otherwise returns null.
 * @param {Registry} registry
 * @param {number} id
 * @param {number} generation
 */
function haltedApp(registry, id, generation) {
  const found = findSlot(registry, id);
  return found && found.slot.generation < generation && found.app.rollout.failure ? found.app : null;
}

/**
 * Whether each slot that should serve is up or has failed. Before that, the error cannot list the
 * slots that serve.
 * @param {Registry} registry
 * @param {DesiredApp} app
 */
function isAtRest(registry, { slots }) {
  return slots
    .filter((slot) => slot.want === 'up')
    .every((slot) => {
      const life = servingSeat(registry, slot)?.life;
      return life !== undefined && (life.state === 'up' || life.state === 'failed' || life.hasFailed);
    });
}

/**
 * Returns the newest seat that is not newer than the generation of the slot. The seat can be older,
 * because after a failed restart in another slot an older generation may still serve.
 * @param {Registry} registry
 * @param {DesiredSlot} slot
 */
function servingSeat(registry, { id, generation }) {
  return listSeatsOfSlot(registry, id)
    .filter((seat) => seat.generation <= generation)
    .at(-1);
}

/**
 * @param {Registry} registry
 * @param {number} id
 * @param {number} generation  The lowest generation that counts.
 * @param {string} method
 * @returns {Outcome}
 */
function slotOutcome(registry, id, generation, method) {
  const found = findSlot(registry, id);
  if (!found) return failure(registry, id, DELETED);
  const { ended } = getSlotHistory(registry, id);
  if (ended && ended.generation >= generation) {
    if (!ended.isOk) return failure(registry, id, lastDeath(registry, id));
    return { state: found.slot.generation <= ended.generation && hasProcess(registry, id) ? 'pending' : 'done' };
  }
  if (found.slot.want === 'down') return failure(registry, id, 'was stopped by another command');
  if (found.slot.generation < generation) return failure(registry, id, SUPERSEDED_ROLLBACK);
  const seat = servingSeat(registry, found.slot);
  const life = seat && seat.generation >= generation ? seat.life : undefined;
  if (life?.state === 'up') return { state: isReplacing(registry, found.slot, method) ? 'pending' : 'done' };
  const hasFailed = life && (life.hasFailed || life.state === 'backoff' || life.state === 'failed');
  return hasFailed ? failure(registry, id, lastDeath(registry, id)) : { state: 'pending' };
}

/**
 * Whether the request still has to replace an old instance of the slot, for example a parked or
 * draining instance. An update replaces only orphans of the old keeper. Only reload,
 * rollback, apply and update wait for the other instances.
 * @param {Registry} registry
 * @param {DesiredSlot} slot
 * @param {string} method
 */
function isReplacing(registry, { id, former }, method) {
  if (method === 'reload' || method === 'rollback' || method === 'apply')
    return Boolean(former) || listSeatsOfSlot(registry, id).length > 1;
  return (
    method === 'update' &&
    [...registry.instances.values()].some((instance) => instance.label.id === id && instance.isOrphan)
  );
}

/**
 * @param {Registry} registry
 * @param {number} id
 */
function lastDeath(registry, id) {
  const death = getSlotHistory(registry, id).deaths.at(-1);
  return death ? describeEnd(death, findSlot(registry, id)?.app.spec ?? null) : 'did not come up';
}

/**
 * @param {Registry} registry
 * @param {number} id
 * @param {string} reason
 * @returns {Outcome}
 */
function failure(registry, id, reason) {
  const found = findSlot(registry, id);
  const place = { id, name: found?.app.spec.name ?? '', slot: found?.slot.slot ?? 0 };
  return { state: 'failed', notUp: [{ ...place, reason, ...quoteDeath(getSlotHistory(registry, id).deaths.at(-1)) }] };
}

/**
 * Users of a failed `start` expect that the app is not in the list.
 * @param {Registry} registry
 * @param {NotUp} notUp
 * @returns {string}  The next step after a failed start.
 */
export function adviseOnListed(registry, { id }) {
  const found = findSlot(registry, id);
  if (!found) return '';
  const isRetried = found.slot.want === 'up' && servingSeat(registry, found.slot)?.life.state !== 'failed';
  const { name } = found.app.spec;
  return (
    `. "${name}" stays in the list${isRetried ? ' and is retried' : ''}. ` +
    `To remove it: nclust delete ${shellQuote(name)}`
  );
}

/**
 * @param {NotUp[]} notUp
 * @param {object} o
 * @param {number} o.wanted  The number of slots in the request.
 * @param {string} o.method
 * @param {string} [o.advice]  Follows the hint.
 */
export function notUpError(notUp, { wanted, method, advice = '' }) {
  const [first] = notUp;
  const name = first.name || `id ${first.id}`;
  const others = notUp.length > 1 ? ` (and ${notUp.length - 1} more of ${wanted})` : '';
  return new NclustError(
    'ERR_NCLUST_NOT_UP',
    `The ${method} of "${name}" failed: instance ${first.slot} ${first.reason}${quoteErrorLine(first)}${others}.`,
    {
      hint:
        first.reason === DELETED
          ? 'nclust list'
          : `${first.listenFailure ? `${adviseOnPort(first.listenFailure, first.name)}. ` : ''}nclust logs ` +
            `${shellQuote(first.name || String(first.id))}; nclust describe ${first.id}${advice}`,
      data: { slots: notUp },
    },
  );
}
