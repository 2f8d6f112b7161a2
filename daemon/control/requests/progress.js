import { isDeepStrictEqual } from 'node:util';
import { isLoadingOn, readReadiness } from '../rollout/readiness.js';
import { findDeadline, occupiedSlots, listSeatsOfSlot } from '../state/registry.js';
import { describeOutcome } from './outcome.js';

/** @import { Progress, Waiting, WaitingPhase } from '../../../lib/shared/wire/protocol.js' */
/** @import { Cancel } from '../host/clock.js' */
/** @import { State } from '../policy/seat.js' */
/** @import { Receipt } from '../state/desired.js' */
/** @import { Seat, Registry } from '../state/registry.js' */
/** @import { ChangeContext } from './change.js' */

/**
 * @typedef {object} WaitingClient
 * @property {AbortSignal} signal
 * @property {(method: string, params: object) => void} notify
 */

/**
 * @param {ChangeContext} context
 * @param {Receipt} receipt
 * @param {WaitingClient} client
 * @param {boolean} isReported
 * @returns {Promise<void>}  Rejects like Control.waitFor().
 */
export function waitFor(context, receipt, client, isReported) {
  return waitWithProgress(context, receipt, client, isReported, (onCheck) =>
    context.control.waitFor(receipt, client.signal, onCheck),
  );
}

/**
 * @template T
 * @param {ChangeContext} context
 * @param {Receipt} receipt
 * @param {WaitingClient} client
 * @param {boolean} isReported
 * @param {(onCheck?: () => void) => Promise<T>} wait  Calls onCheck if there may be progress.
 */
export async function waitWithProgress(context, receipt, client, isReported, wait) {
  const reporter = isReported ? createReporter(context, receipt, client) : null;
  try {
    return await wait(reporter?.look);
  } finally {
    reporter?.close();
  }
}

const EVERY_MS = 100;

/**
 * @param {ChangeContext} context
 * @param {Receipt} receipt
 * @param {WaitingClient} client
 * @returns {{ look: () => void, close: () => void }}  look() reports at most once in EVERY_MS.
 */
function createReporter({ control, parts }, receipt, client) {
  /** @type {Progress | null} */
  let reported = null;
  /** @type {Cancel | null} */
  let cancel = null;
  let hasNews = false;

  function report() {
    const now = describeProgress(control.registry, receipt, parts.clock.nowMs());
    if (reported && isDeepStrictEqual(getSteps(reported), getSteps(now))) return;
    reported = now;
    client.notify('progress', now);
    cancel = parts.clock.after(EVERY_MS, () => {
      cancel = null;
      if (hasNews) look();
    });
  }

  function look() {
    hasNews = cancel !== null;
    if (!cancel) report();
  }

  return { look, close: () => cancel?.() };
}

/**
 * Leaves out the elapsed time, which a client can count on its own.
 * @param {Progress} progress
 */
function getSteps({ done, waiting }) {
  return [done, waiting.map(({ id, phase, untilMs }) => [id, phase, untilMs])];
}

/** @type {Partial<Record<State, WaitingPhase>>} */
const PHASES = {
  starting: 'starting',
  soaking: 'soaking',
  entering: 'starting',
  parked: 'parked',
  stopping: 'draining',
  backoff: 'backing off',
};

/**
 * @param {Registry} registry
 * @param {Receipt} receipt
 * @param {number} nowMs
 * @returns {Progress}
 */
function describeProgress(registry, receipt, nowMs) {
  const { up, gone, token } = receipt;
  const occupied = gone.length > 0 ? occupiedSlots(registry) : new Set();
  const pending = [
    ...up
      .filter((one) => describeOutcome(registry, { ...receipt, up: [one], gone: [] }).state === 'pending')
      .map(({ id }) => id),
    ...gone.filter((id) => occupied.has(id)),
  ];
  const waiting = pending.flatMap((id) =>
    listSeatsOfSlot(registry, id).flatMap((seat) => computeWait(registry, seat, nowMs) ?? []),
  );
  return { token, done: up.length + gone.length - pending.length, total: up.length + gone.length, waiting };
}

/**
 * @param {Registry} registry
 * @param {Seat} seat
 * @param {number} nowMs
 * @returns {Waiting | null}
 */
function computeWait(registry, seat, nowMs) {
  const phase = isLoadingOn(registry, seat) ? 'loading' : PHASES[seat.life.state];
  if (!phase) return null;
  const { id, name, slot } = seat;
  const untilMs = findDeadline(registry, seat);
  return {
    id,
    name,
    slot,
    phase,
    forMs: Math.max(0, nowMs - seat.sinceMs),
    untilMs,
    leftMs: untilMs === null ? null : Math.max(0, untilMs - nowMs),
    detail: seat.life.state === 'starting' ? readReadiness(registry, seat).missing : null,
  };
}
