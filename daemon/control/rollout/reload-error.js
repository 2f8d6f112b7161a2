import { adviseOnListenFailure, quoteErrorLine } from '../../../lib/shared/death-text.js';
import { NclustError } from '../../../lib/shared/errors.js';
import { shellQuote } from '../../../lib/shared/shell-quote.js';
import { listSeatsOfSlot } from '../state/registry.js';

/** @import { Death, NotUp } from '../../../lib/shared/wire/protocol.js' */
/** @import { DesiredApp, DesiredSlot, Failure, Receipt } from '../state/desired.js' */
/** @import { Registry } from '../state/registry.js' */

/**
 * @typedef {object} Running
 * @property {number} slot
 * @property {number} generation
 * @property {boolean} isNew  The instance runs the requested code.
 * @property {boolean} isRestarted  The instance was started after the reload failed.
 */

/**
 * @param {Registry} registry
 * @param {DesiredApp} app
 * @param {Receipt['up']} asked  The slots in the request. A later generation may have failed.
 */
export function reloadError(registry, app, asked) {
  const { name } = app.spec;
  const { kind, reason, slots } = /** @type {Failure} */ (app.rollout.failure);
  const serving = app.slots.flatMap((slot) => countServing(registry, app, slot, asked));
  const running = serving.map(({ slot, generation }) => ({ slot, generation }));
  const missing = app.slots.filter(({ slot, want }) => want === 'up' && !serving.some((one) => one.slot === slot));
  const [failure] = slots.flatMap(({ listenFailure }) => listenFailure ?? []);
  const hasExited = kind === 'halted' && slots.length > 0 && app.spec.mode === 'fork';
  const advice = failure ? `${adviseOnListenFailure(failure)}. ` : hasExited ? `${alone(name)} ` : '';
  const more = slots.length > 0 ? `; nclust describe ${slots[0].id}` : '';
  const hint = `${advice}nclust logs ${shellQuote(name)}${more}`;
  const what = kind === 'rolled-back' ? 'was rolled back' : 'stopped';
  const code = kind === 'rolled-back' ? 'ERR_NCLUST_ROLLED_BACK' : 'ERR_NCLUST_RELOAD_FAILED';
  const quote = slots.length > 0 ? quoteErrorLine(slots[0]) : '';
  const message = `Reload of "${name}" ${what}: ${reason}${quote}. ${describeRunning(serving, missing, kind)}`;
  return new NclustError(code, message, {
    hint,
    data: { slots, running, kind },
  });
}

/**
 * @param {typeof NO_DEATH} [death]
 * @returns {Pick<NotUp, 'words' | 'frame' | 'lastLines' | 'listenFailure'>}
 */
export function quoteDeath({ cause, words, frame, lastLines, listenFailure } = NO_DEATH) {
  // The reason of a failed spawn contains its only line.
  const hasWords = words !== undefined && cause !== 'spawn-failed';
  return {
    ...(hasWords ? { words, ...(frame ? { frame } : {}) } : {}),
    lastLines,
    ...(listenFailure ? { listenFailure } : {}),
  };
}

/** @type {Pick<Death, 'lastLines'> & Partial<Death>} */
const NO_DEATH = { lastLines: [] };

/**
 * Returns advice for fork mode, in which two instances may exclude each other, for example by a
 * lock of the program.
 * @param {string} name
 */
function alone(name) {
  return `If two instances cannot run side by side, run: nclust restart ${shellQuote(name)}.`;
}

/**
 * Names no time, because the time zone of the reader may differ. "nclust why" has the time.
 * @param {DesiredApp} app
 * @returns {string | null}
 */
export function describeRollback({ spec, rollout: { failure } }) {
  if (failure?.kind !== 'rolled-back') return null;
  return `The reload of "${spec.name}" to generation ${failure.generation} was rolled back: ${failure.reason}.`;
}

/**
 * @param {Registry} registry
 * @param {DesiredApp} app
 * @param {DesiredSlot} slot
 * @param {Receipt['up']} asked
 * @returns {Running[]}
 */
function countServing(registry, { rollout }, { id, slot }, asked) {
  const { generation: failed, atMs } = /** @type {Failure} */ (rollout.failure);
  const newest = asked.find((one) => one.id === id)?.generation ?? failed;
  const seats = listSeatsOfSlot(registry, id)
    .filter((seat) => seat.life.state === 'up')
    .slice(-1);
  return seats.map(({ generation, instanceId }) => {
    const startedAtMs = registry.instances.get(instanceId ?? '')?.startedAtMs ?? 0;
    return { slot, generation, isNew: generation >= newest, isRestarted: startedAtMs >= atMs };
  });
}

/**
 * @param {Running[]} serving
 * @param {{ slot: number }[]} missing
 * @param {Failure['kind']} kind
 */
function describeRunning(serving, missing, kind) {
  if (serving.length === 0) return 'No instance is serving now.';
  const renewed = serving.filter(({ isNew }) => isNew);
  const old = serving.filter(({ isNew }) => !isNew);
  const what =
    renewed.length === 0
      ? describeOld(old, kind)
      : `${getSlots(renewed)} the new code, ${getSlots(old)} the old.`.replace(', no instance runs the old', '');
  if (missing.length === 0) return what;
  const absent =
    missing.length === 1
      ? `Instance ${missing[0].slot} is`
      : `Instances ${missing.map(({ slot }) => slot).join(', ')} are`;
  return `${what} ${absent} not up.`;
}

/**
 * An old instance may have died while it was parked, or control may have stopped it before the new
 * instance started. Then another process of the old generation serves.
 * @param {Running[]} old
 * @param {Failure['kind']} kind
 */
function describeOld(old, kind) {
  const still = kind === 'rolled-back' ? 'serving again' : 'still serving';
  const restarted = old.filter(({ isRestarted }) => isRestarted).length;
  const kept = old.length - restarted;
  const [all, are, were] =
    old.length === 1 ? ['The old instance', 'is', 'was'] : [`The ${old.length} old instances`, 'are', 'were'];
  if (restarted === 0) return `${all} ${are} ${still}.`;
  if (kept === 0) return `${all} had exited and ${were} started again.`;
  return (
    `${kept} of the ${old.length} old instances ${kept === 1 ? 'is' : 'are'} ${still}, ${restarted} had ` +
    `exited and ${restarted === 1 ? 'was' : 'were'} started again.`
  );
}

/** @param {{ slot: number }[]} slots */
function getSlots(slots) {
  if (slots.length === 0) return 'no instance runs';
  return slots.length === 1
    ? `Instance ${slots[0].slot} runs`
    : `Instances ${slots.map(({ slot }) => slot).join(', ')} run`;
}
