import { next } from '../policy/lifecycle.js';
import { listHappenings, publishStep } from '../journal/process-events.js';
import { EFFECTS, findStop } from './effects.js';
import { checkSpec } from '../../../lib/app-spec/check.js';
import { writeNote } from '../keeper-link/tell.js';
import { readReadiness } from '../rollout/readiness.js';
import { isWanted, getSlotHistory } from '../state/registry.js';
import { recordOnline, recordRequest } from '../state/slot-history.js';

/** @import { LoopContext } from '../context.js' */
/** @import { Happening } from '../journal/journal.js' */
/** @import { Effect, Life, LifeEvent } from '../policy/seat.js' */
/** @import { Instance, Seat } from '../state/registry.js' */

/** The policy for instances of an app that was removed from the list. */
const REMOVED = checkSpec({ name: 'deleted', kind: 'exec', file: '/', script: '/', cwd: '/' });

/**
 * Applies an event to a seat. If the note for the next control has changed, sends the note to the
 * keeper before the effects begin.
 * @param {LoopContext} context
 * @param {Seat} seat
 * @param {LifeEvent} event
 */
export function step(context, seat, event) {
  const { parts, registry } = context;
  const policy = seat.spec ?? REMOVED;
  const readiness = readReadiness(registry, seat);
  const nowMs = parts.clock.nowMs();
  const { life, effects } = next(seat.life, event, {
    policy,
    isWanted: isWanted(registry, seat),
    readiness,
    nowMs,
  });
  const before = seat.life;
  seat.life = life;
  const instance = registry.instances.get(seat.instanceId ?? '');
  const hasTurned = instance !== undefined && noteOnline(context, instance, { before, life, nowMs });
  if (life.state !== before.state || seat.sinceMs === 0) seat.sinceMs = nowMs;
  const happenings = listHappenings(before, life, event, { effects, isOnProbation: readiness.isOnProbation });
  const hasNews = remember(context, seat, { before, effects, happenings, nowMs }) || hasTurned;
  publishStep(context, seat, happenings);
  if (life.state === 'up') seat.begunBy = null;
  if (hasNews || event.type === 'exited' || event.type === 'refused') writeNote(context, seat.id);
  if (life.state === 'down') registry.seats.delete(seat.key);
  registry.touched.add(seat.id);
  for (const effect of effects) EFFECTS[effect.type](context, seat, effect, nowMs);
}

/**
 * An instance whose listen() fails after it counted as up was not ready.
 * @param {LoopContext} context
 * @param {Instance} instance
 * @param {{ before: Life, life: Life, nowMs: number }} o
 * @returns {boolean}  Whether the note in the keeper has to be written again.
 */
function noteOnline({ registry }, instance, { before, life, nowMs }) {
  const { instanceId, label, onlineSinceMs } = instance;
  const isTakenBack = before.state === 'up' && life.state === 'starting';
  if (life.state === 'up') Object.assign(instance, { wasUp: true, onlineSinceMs: onlineSinceMs ?? nowMs });
  else if (isTakenBack) instance.onlineSinceMs = null;
  if (instance.onlineSinceMs === onlineSinceMs) return false;
  recordOnline(getSlotHistory(registry, label.id), instanceId, instance.onlineSinceMs, registry.instances);
  return true;
}

/**
 * @param {LoopContext} context
 * @param {Seat} seat
 * @param {{ before: Life, effects: Effect[], happenings: Happening[], nowMs: number }} o
 * @returns {boolean}  Whether the note in the keeper has to be written again.
 */
function remember({ registry }, seat, { before, effects, happenings, nowMs }) {
  const history = getSlotHistory(registry, seat.id);
  const { state, streak, unstableAtMs, hasFailed, asked } = seat.life;
  const timer = effects.find((effect) => effect.type === 'setTimer');
  const instance = registry.instances.get(seat.instanceId ?? '');
  if (asked && asked !== before.asked && instance) {
    const { instanceId, label } = instance;
    recordRequest(history, instanceId, asked, { nowMs, ...findStop(registry, instanceId, label) });
  }
  for (const { type, cause, isOk } of happenings) {
    if (type === 'done' || type === 'gave-up' || cause === 'stop') history.isAtRest = true;
    if (type === 'done') history.ended = { generation: seat.generation, isOk };
  }
  const isJudged = unstableAtMs !== before.unstableAtMs;
  if (isJudged) {
    const untilMs = state === 'backoff' && timer ? nowMs + timer.ms : null;
    history.seat = { generation: seat.generation, state, streak, unstableAtMs, hasFailed, untilMs };
  }
  return isJudged || state === 'down' || asked !== before.asked;
}
