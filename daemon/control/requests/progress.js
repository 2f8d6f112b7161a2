import { trialOf } from '../rollout/readiness.js';
import { findSlot, occupiedSlots, seatsOfSlot } from '../state/registry.js';
import { outcomeOf } from './outcome.js';

/** @import { Progress, WaitingPhase, Waiting } from '../../../lib/shared/wire/protocol.js' */
/** @import { State } from '../policy/lifecycle.js' */
/** @import { Receipt } from './outcome.js' */
/** @import { Seat, World } from '../state/registry.js' */

/** @type {Partial<Record<State, WaitingPhase>>} */
const PHASES = { starting: 'starting', soaking: 'soaking', entering: 'starting', parked: 'parked', stopping: 'draining', backoff: 'backing off' };

/**
 * How far a request has come: slots that are as it wants them, and what the others wait for.
 * @param {World} world
 * @param {Receipt} receipt
 * @param {number} nowMs
 * @returns {Progress}
 */
export function progressOf(world, receipt, nowMs) {
  const { up, gone, token } = receipt;
  const occupied = gone.length > 0 ? occupiedSlots(world) : new Set();
  const pending = [
    ...up.filter((one) => outcomeOf(world, { ...receipt, up: [one], gone: [] }).state === 'pending').map(({ id }) => id),
    ...gone.filter((id) => occupied.has(id)),
  ];
  const waiting = pending.flatMap((id) => seatsOfSlot(world, id).flatMap((seat) => waitOf(world, seat, nowMs) ?? []));
  return { token, done: up.length + gone.length - pending.length, total: up.length + gone.length, waiting };
}

/**
 * @param {World} world
 * @param {Seat} seat
 * @param {number} nowMs
 * @returns {Waiting|null}  Null for one that waits for nothing.
 */
function waitOf(world, seat, nowMs) {
  const phase = PHASES[seat.life.state];
  if (!phase) return null;
  const { id, name, slot } = seat;
  const endsAtMs = phase === 'parked' ? findSlot(world, id)?.app.rollout.windowEndsAtMs ?? null : seat.untilMs;
  return {
    id,
    name,
    slot,
    phase,
    forMs: Math.max(0, nowMs - seat.sinceMs),
    leftMs: endsAtMs === null ? null : Math.max(0, endsAtMs - nowMs),
    detail: seat.life.state === 'starting' ? trialOf(world, seat).missing : null,
  };
}
