import { next } from '../policy/lifecycle.js';
import { noteStep } from '../events/process-events.js';
import { EFFECTS } from './effects.js';
import { tellStep } from '../events/bus.js';
import { checkSpec } from '../../../lib/shared/spec/spec.js';
import { writeNote } from '../keeper-link/tell.js';
import { trialOf } from '../rollout/readiness.js';
import { isWanted, memoryOf } from '../state/registry.js';

/** @import { Core } from '../keeper-link/tell.js' */
/** @import { Effect, Life, LifeEvent } from '../policy/seat.js' */
/** @import { Instance, Seat } from '../state/registry.js' */

/**
 * Takes one seat one event further. What the next control would have to know is in the keeper
 * before the effects are.
 * @param {Core} core
 * @param {Seat} seat
 * @param {LifeEvent} event
 */
export function step(core, seat, event) {
  const { parts, world } = core;
  const policy = seat.spec ?? leftBehindPolicy();
  const trial = trialOf(world, seat);
  const { life, effects } = next(seat.life, event, {
    policy,
    isWanted: isWanted(world, seat),
    trial,
    nowMs: parts.clock.nowMs(),
  });
  const before = seat.life;
  seat.life = life;
  if (life.state === 'up') markUp(world.instances.get(seat.instanceId ?? ''));
  if (life.state !== before.state || seat.sinceMs === 0) seat.sinceMs = parts.clock.nowMs();
  const hasNews = remember(core, seat, before, effects);
  noteStep(core, seat, before, event, { effects, isOnTrial: trial.isOn });
  if (hasNews || event.type === 'exited' || event.type === 'refused') writeNote(core, seat.id);
  if (life.state === 'down') world.seats.delete(seat.key);
  world.touched.add(seat.id);
  tellStep(core, seat, before, event, trial.isOn);
  for (const effect of effects) EFFECTS[effect.type](core, seat, effect);
}

/**
 * @param {Core} core
 * @param {Seat} seat
 * @param {Life} before
 * @param {Effect[]} effects
 * @returns {boolean}  Whether there is anything new.
 */
function remember({ parts, world }, seat, before, effects) {
  const memory = memoryOf(world, seat.id);
  const { state, streak, unstableAtMs, hasFailed, asked } = seat.life;
  const timer = effects.find((effect) => effect.type === 'setTimer');
  const ended = effects.find((effect) => effect.type === 'ended');
  if (asked && asked !== before.asked && seat.instanceId) memory.asked = { ...memory.asked, [seat.instanceId]: asked };
  if (ended) memory.ended = { generation: seat.generation, isOk: ended.isOk };
  const isJudged = unstableAtMs !== before.unstableAtMs;
  if (isJudged) {
    const untilMs = state === 'backoff' && timer ? parts.clock.nowMs() + timer.ms : null;
    memory.seat = { generation: seat.generation, state, streak, unstableAtMs, hasFailed, untilMs };
  }
  return isJudged || state === 'down' || asked !== before.asked;
}

/** @param {Instance | undefined} instance */
function markUp(instance) {
  if (instance) instance.wasUp = true;
}

/** For what still runs of an app that is not in the list any more: the defaults. */
function leftBehindPolicy() {
  return checkSpec({ name: 'deleted', kind: 'exec', file: '/', script: '/', cwd: '/' });
}
