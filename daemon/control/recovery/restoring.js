import { EFFECTS, fulfil } from '../loop/effects.js';
import { addSeat } from '../loop/reconcile.js';
import { BACKOFF_MAX_MS } from '../policy/restart-policy.js';
import { specOf } from '../state/desired.js';
import { isWanted, memoryOf, seatKey } from '../state/registry.js';

/** @import { Core } from '../keeper-link/tell.js' */
/** @import { Seat } from '../state/registry.js' */

/**
 * Seats that have no process: those in back-off go on waiting, those that failed stay so, and work that is done stays done.
 * @param {Core} core
 */
export function restore(core) {
  const { world, parts } = core;
  for (const app of world.desired.apps) {
    for (const wish of app.slots.filter((slot) => slot.want === 'up')) {
      const { ended, seat: past } = memoryOf(world, wish.id);
      if (ended && isWanted(world, { id: wish.id, generation: ended.generation })) fulfil(core, wish.id);
      else if (past && isWanted(world, { id: wish.id, generation: past.generation }) && !world.seats.has(seatKey(wish.id, past.generation))) {
        if (past.state !== 'backoff' && past.state !== 'failed') continue;
        const seat = addSeat(world, { id: wish.id, generation: past.generation, slot: wish.slot, name: app.spec.name, spec: specOf(app, past.generation) });
        seat.life = { ...seat.life, state: past.state };
        if (past.state === 'backoff') wait(core, seat, (past.untilMs ?? 0) - parts.clock.nowMs());
      }
    }
  }
}

/**
 * @param {Core} core
 * @param {Seat} seat
 * @param {number} leftMs
 */
function wait(core, seat, leftMs) {
  // No longer than the policy could have asked for, should the wall clock have been set back.
  const ms = Math.min(Math.max(0, leftMs), Math.max(BACKOFF_MAX_MS, seat.spec?.restartDelayMs ?? 0));
  EFFECTS.setTimer(core, seat, { type: 'setTimer', ms });
}
