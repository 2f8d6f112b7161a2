import { findErrorLine } from '../../../lib/shared/logs/error-line.js';
import { findApp } from '../state/desired.js';
import { findSeat, findSeatOfInstance } from '../state/registry.js';
import { noteRolloutBegun } from './change-events.js';

/** @import { LoggedEvent } from '../../../lib/shared/event-log.js' */
/** @import { LoopContext } from '../context.js' */
/** @import { Effect, Life, LifeEvent } from '../policy/seat.js' */
/** @import { Instance, Label, Seat, Registry } from '../state/registry.js' */
/** @import { RecordedDeath } from '../state/slot-history.js' */
/** @import { Happening } from './journal.js' */

/**
 * @param {Life} before
 * @param {Life} after
 * @param {LifeEvent} event
 * @param {{ effects: Effect[], isOnProbation: boolean }} o
 * @returns {Happening[]}  Without the time and the place.
 */
export function listHappenings(before, after, event, { effects, isOnProbation }) {
  if (event.type === 'spawned') return [{ type: 'started' }];
  const ended = effects.find((effect) => effect.type === 'ended');
  if (ended) return [{ type: 'done', isOk: ended.isOk }];
  if (after.state === before.state) return [];
  if (after.state === 'up') return [{ type: 'ready' }, ...(isOnProbation ? [{ type: 'rollout:step' }] : [])];
  if (after.state === 'backoff')
    return [
      { type: 'backoff', delayMs: effects.find((effect) => effect.type === 'setTimer')?.ms ?? 0, streak: after.streak },
    ];
  // Leaves out a failure on probation, because an event of the rollout reports it.
  if (after.state === 'failed') return isOnProbation ? [] : [{ type: 'gave-up', crashes: after.unstableAtMs.length }];
  const cause = (before.asked ?? (event.type === 'stop' ? event.asked : null))?.cause ?? '';
  return after.state === 'down' && ['stop', 'delete', 'scale'].includes(cause) ? [{ type: 'left', cause }] : [];
}

/**
 * Call this before writeNote(). If control dies between the two calls, the next control publishes
 * the happening again, and the event log skips it. In the other order, the event would be lost.
 * @param {LoopContext} context
 * @param {Seat} seat
 * @param {Happening[]} happenings
 */
export function publishStep({ journal, registry, parts }, seat, happenings) {
  const instance = registry.instances.get(seat.instanceId ?? '');
  for (const happening of happenings) {
    journal.publish({
      ...happening,
      ...describeMoment(happening.type, instance, parts.clock.nowMs()),
      ...describePlace(registry, seat, seat.instanceId),
      pid: instance?.pid || undefined,
      ...(happening.type === 'rollout:step' ? describeProgress(registry, seat) : {}),
    });
  }
}

/**
 * Like publishStep(), call this before writeNote().
 * @param {LoopContext} context
 * @param {Label} label
 * @param {RecordedDeath} death
 * @param {boolean} isAsked
 */
export function publishDeath({ journal, registry }, label, death, isAsked) {
  journal.publish({
    type: 'died',
    at: death.atMs,
    ...describePlace(registry, label, death.instanceId),
    death,
    isAsked,
  });
}

/**
 * @param {Happening} record
 * @returns {Omit<LoggedEvent, 'at'>}
 */
export function toLogEntry({ death, isAsked: _, ...entry }) {
  if (!death) return entry;
  const { instanceId: _instanceId, atMs: _atMs, lastLines, pid, ...facts } = death;
  return { ...entry, pid: pid || undefined, ...facts, ...keepLastLines(lastLines) };
}

/**
 * Logs events that the previous control caused or saw, but could not log.
 * @param {LoopContext} context
 */
export function catchUp({ registry, parts }) {
  const { eventLog, clock } = parts;
  for (const app of registry.desired.apps) {
    const last = eventLog.generationOf(app.spec.name);
    if (last !== null && last < app.generation) eventLog.note(noteRolloutBegun(app));
  }
  for (const instance of registry.instances.values()) {
    const { instanceId, label, pid, startedAtMs, isStray } = instance;
    if (isStray || startedAtMs === null || startedAtMs < eventLog.sinceMs) continue;
    const place = { ...describePlace(registry, label, instanceId), pid };
    eventLog.note({ type: 'started', ...describeMoment('started', instance, clock.nowMs()), ...place });
    if (!instance.exit && findSeatOfInstance(registry, instanceId)?.life.state === 'up')
      eventLog.note({ type: 'ready', ...describeMoment('ready', instance, clock.nowMs()), ...place });
  }
}

/**
 * @param {string} type
 * @param {Instance | undefined} instance
 * @param {number} nowMs
 */
function describeMoment(type, instance, nowMs) {
  const startedAtMs = instance?.startedAtMs ?? nowMs;
  if (type === 'started') return { at: startedAtMs };
  return type === 'ready'
    ? { at: nowMs, afterMs: Math.max(0, nowMs - startedAtMs) }
    : { at: instance?.exit?.atMs ?? nowMs };
}

/**
 * @param {Registry} registry
 * @param {Pick<Label, 'id' | 'name' | 'slot' | 'generation'>} place
 * @param {string | null} instanceId
 */
function describePlace({ desired }, { id, name, slot, generation }, instanceId) {
  return {
    app: name,
    namespace: findApp(desired, name)?.spec.namespace ?? 'default',
    id,
    slot,
    generation,
    instanceId: instanceId ?? undefined,
  };
}

/**
 * Counts the new instances that are up, including the instance of this seat. The first new instance
 * is the canary.
 * @param {Registry} registry
 * @param {Seat} seat
 */
function describeProgress(registry, { name }) {
  const slots = findApp(registry.desired, name)?.slots.filter((slot) => slot.former && slot.want === 'up') ?? [];
  const step = slots.filter((slot) => findSeat(registry, slot)?.life.state === 'up').length;
  return { type: step === 1 ? 'rollout:canary' : 'rollout:step', step, of: slots.length };
}

const DEATH_LINES_KEPT = 20;

/**
 * @param {string[]} lines  Of stderr, oldest first.
 * @param {string} [cwd]
 * @returns {Pick<RecordedDeath, 'words' | 'frame' | 'lastLines'>}
 */
export function readLastWords(lines, cwd) {
  const found = findErrorLine(lines, cwd);
  return {
    ...(found ? { words: found.line } : {}),
    ...(found?.frame ? { frame: found.frame } : {}),
    lastLines: lines.slice(-DEATH_LINES_KEPT),
  };
}

const LINES_KEPT = 6;
const CHARS_KEPT = 1_000;

/**
 * @param {string[]} lines
 * @returns {{ lines?: string[] }}
 */
function keepLastLines(lines) {
  let left = CHARS_KEPT;
  const kept = lines
    .slice(-LINES_KEPT)
    .reverse()
    .flatMap((line) => {
      const part = line.slice(0, Math.max(0, left));
      left -= line.length;
      return part === '' ? [] : [part];
    })
    .reverse();
  return kept.length > 0 ? { lines: kept } : {};
}
