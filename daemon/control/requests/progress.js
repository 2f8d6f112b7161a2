import { isDeepStrictEqual } from 'node:util';
import { trialOf } from '../rollout/readiness.js';
import { findSlot, occupiedSlots, seatsOfSlot } from '../state/registry.js';
import { outcomeOf } from './outcome.js';

/** @import { Progress, Waiting, WaitingPhase } from '../../../lib/shared/wire/protocol.js' */
/** @import { Client } from '../api/connection.js' */
/** @import { Desk } from '../api/methods.js' */
/** @import { Cancel } from '../host/clock.js' */
/** @import { State } from '../policy/lifecycle.js' */
/** @import { Seat, World } from '../state/registry.js' */
/** @import { Receipt } from './outcome.js' */

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
 * How far a request has come: slots that are as it wants them, and what the others wait for.
 * @param {World} world
 * @param {Receipt} receipt
 * @param {number} nowMs
 * @returns {Progress}
 */
function progressOf(world, receipt, nowMs) {
  const { up, gone, token } = receipt;
  const occupied = gone.length > 0 ? occupiedSlots(world) : new Set();
  const pending = [
    ...up
      .filter((one) => outcomeOf(world, { ...receipt, up: [one], gone: [] }).state === 'pending')
      .map(({ id }) => id),
    ...gone.filter((id) => occupied.has(id)),
  ];
  const waiting = pending.flatMap((id) => seatsOfSlot(world, id).flatMap((seat) => waitOf(world, seat, nowMs) ?? []));
  return { token, done: up.length + gone.length - pending.length, total: up.length + gone.length, waiting };
}

/**
 * @param {World} world
 * @param {Seat} seat
 * @param {number} nowMs
 * @returns {Waiting | null}  Null for one that waits for nothing.
 */
function waitOf(world, seat, nowMs) {
  const phase = PHASES[seat.life.state];
  if (!phase) return null;
  const { id, name, slot } = seat;
  const endsAtMs = phase === 'parked' ? (findSlot(world, id)?.app.rollout.windowEndsAtMs ?? null) : seat.untilMs;
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

/** A client is told at most this often, in ms. */
const EVERY_MS = 100;

/**
 * Tells a client how far its request has come: at once, and whenever something has changed.
 * @param {Desk} desk
 * @param {Receipt} receipt
 * @param {Client} client
 * @returns {{ look: () => void, close: () => void }}
 */
export function createTeller({ control, parts }, receipt, client) {
  /** @type {Progress | null} */
  let told = null;
  /** @type {Cancel | null} */
  let cancel = null;
  let hasNews = false;

  function tell() {
    const now = progressOf(control.world, receipt, parts.clock.nowMs());
    if (told && isSame(told, now)) return;
    told = now;
    client.notify('progress', now);
    cancel = parts.clock.after(EVERY_MS, () => {
      cancel = null;
      if (hasNews) look();
    });
  }

  function look() {
    hasNews = cancel !== null;
    if (!cancel) tell();
  }

  return { look, close: () => cancel?.() };
}

/**
 * But for the time that has passed, which a client can count by itself.
 * @param {Progress} one
 * @param {Progress} other
 */
function isSame(one, other) {
  return one.done === other.done && isDeepStrictEqual(one.waiting.map(what), other.waiting.map(what));
}

/** @param {Progress['waiting'][number]} waiting */
function what({ id, phase }) {
  return [id, phase];
}
