import { clockTime, formatCoarse, formatCount } from '../../figures/format.js';
import { oldestStart, onlineSince, worstStatus } from '../../figures/rows.js';
import { isAsked, withoutPrefix } from '../../shared/death-text.js';
import { shellQuote } from '../../shared/shell-quote.js';
import { formatDuration } from '../../shared/units.js';
import { eventWords, findDeletion, isFinish } from '../event-text.js';

/** @import { Story } from '../../commands/why.js' */
/** @import { LoggedEvent } from '../../shared/event-log.js' */
/** @import { ShownStatus, SlotStatus } from '../../shared/wire/protocol.js' */

/** The words of these troubles contain the last death, so that the answer leaves it out. */
const OF_DEATHS = ['errored', 'port-taken', 'crash-loop'];

/**
 * Names the state of the app, since when, and after what. The troubles explain what is wrong.
 * @param {Story} story
 * @param {{ isRunning: boolean, nowMs: number }} o
 * @returns {{ status: ShownStatus | 'gone' | 'unknown', text: string, next: string | null }}
 *   `next`: the command that the user should run next, if there is no trouble.
 */
export function explain({ name, slots, events, troubles = [] }, { isRunning, nowMs }) {
  const own = events.filter(({ app }) => app === name);
  if (slots.length === 0) return withoutSlots(name, own, { isRunning, nowMs });
  const status = worstStatus(slots);
  const worst = slots.filter((slot) => slot.status === status);
  const deaths = troubles.some(({ kind }) => OF_DEATHS.includes(kind)) ? [] : listLastDeaths(worst, events);
  const text =
    status === 'online'
      ? onlineText(name, worst, { deaths, own, nowMs })
      : downText(name, slots, { worst, deaths, own, nowMs });
  return { status, text, next: nextStep(name, status) };
}

/**
 * @param {string} name
 * @param {SlotStatus[]} slots  All online.
 * @param {{ deaths: LoggedEvent[], own: LoggedEvent[], nowMs: number }} o
 */
function onlineText(name, slots, { deaths, own: events, nowMs }) {
  const last = deaths.at(-1);
  const text = `${name} is online${since(onlineSince(slots), nowMs)}`;
  if (!last) return `${text}${afterRollout(slots, events)}`;
  const own = slots.filter(({ id }) => id === last.id);
  const who = slots.length === 1 ? '' : `; instance ${last.slot}${since(onlineSince(own), nowMs)}`;
  return `${text}${who}, after it ${eventWords(last)}`;
}

/**
 * @param {string} name
 * @param {SlotStatus[]} slots
 * @param {{ worst: SlotStatus[], deaths: LoggedEvent[], own: LoggedEvent[], nowMs: number }} o
 *   `worst`: the slots with the worst status. The answer describes only these slots.
 */
function downText(name, slots, { worst, deaths, own, nowMs }) {
  const { status } = worst[0];
  const who =
    worst.length === slots.length ? name : `${formatCount(worst.length, 'instance')} of ${slots.length} of ${name}`;
  const about = own.filter(({ id }) => id === undefined || worst.some((slot) => slot.id === id));
  const verb = worst.length === slots.length || worst.length === 1 ? 'is' : 'are';
  const age = since(describeSince(status, worst, about), nowMs);
  return `${who} ${verb} ${status}${age}${describeReason(status, worst, { about, last: deaths.at(-1) })}`;
}

/**
 * @param {string} name
 * @param {LoggedEvent[]} own
 * @param {{ isRunning: boolean, nowMs: number }} o
 * @returns {ReturnType<typeof explain>}
 */
function withoutSlots(name, own, { isRunning, nowMs }) {
  const deleted = findDeletion(own, name) ?? (isRunning ? own.findLast(({ type }) => type === 'deleted') : undefined);
  if (!isRunning && !deleted)
    return {
      status: 'unknown',
      text:
        `nclust is not running, so ${name} is not supervised; this was its last known ` +
        `state${deathNote(findLastDeath(own))}`,
      next: 'nclust resurrect',
    };
  const since = deleted
    ? `: it was deleted at ${clockTime(deleted.at, nowMs)}, ${formatCoarse(nowMs - deleted.at)} ago`
    : ' any more';
  return {
    status: 'gone',
    text: `${name} is not in the list${since}`,
    next: null,
  };
}

/**
 * @param {number | null} atMs
 * @param {number} nowMs
 */
function since(atMs, nowMs) {
  return atMs === null ? '' : ` since ${clockTime(atMs, nowMs)} (${formatCoarse(nowMs - atMs)})`;
}

/**
 * Returns an empty text unless all instances come from the same rollout.
 * @param {SlotStatus[]} slots
 * @param {LoggedEvent[]} own
 */
function afterRollout(slots, own) {
  const [{ generation }] = slots;
  const began = own.findLast(
    (event) => event.type === 'added' || (event.type === 'rollout:began' && event.generation === generation),
  );
  if (began?.type !== 'rollout:began' || slots.some((slot) => slot.generation !== generation)) return '';
  const { by, cause } = began;
  if (cause === 'orphan') return ', after the death of its keeper';
  if (cause === 'unhealthy') return `, after a replacement: the one before ${withoutPrefix(by)}`;
  if (cause === 'restart' && by === 'start') return ', after a start';
  return `, after a ${cause}${!by || by === cause ? '' : ` (${by.includes(' ') ? by : `nclust ${by}`})`}`;
}

/**
 * @param {ShownStatus} status
 * @param {SlotStatus[]} slots
 * @param {LoggedEvent[]} about
 */
function describeSince(status, slots, about) {
  const last = (/** @type {string[]} */ ...types) => about.findLast(({ type }) => types.includes(type))?.at ?? null;
  if (status === 'launching') return oldestStart(slots);
  if (status === 'errored')
    return (
      about.findLast((event) => event.type === 'gave-up' && slots.some((slot) => isAboutSlot(slot, event)))?.at ??
      last('rollout:halted', 'died')
    );
  return status === 'waiting restart' ? last('died') : last('stop', 'done', 'died');
}

/**
 * @param {ShownStatus} status
 * @param {SlotStatus[]} slots
 * @param {{ about: LoggedEvent[], last: LoggedEvent | undefined }} o
 */
function describeReason(status, slots, { about, last }) {
  const stop = about.findLast(({ type }) => type === 'stop' || type === 'done');
  if (status === 'stopped' && stop?.type === 'stop')
    return `: ${stop.by?.includes(' ') ? stop.by : `nclust ${stop.by ?? 'stop'}`}`;
  const finish = about.find((event) => stop?.type === 'done' && isFinish(event, stop));
  if (status === 'stopped' && finish) return `: it finished with code 0 after ${formatDuration(finish.uptimeMs)}`;
  if (status === 'stopped' && stop) return deathNote(last) || ': it exited on its own';
  const waiting = slots[0].waitingFor ? `; it waits for ${slots[0].waitingFor}` : '';
  return `${status === 'stopping' ? '' : deathNote(last)}${waiting}`;
}

/** @param {LoggedEvent | null | undefined} death */
function deathNote(death) {
  return death ? `: it ${eventWords(death)}` : '';
}

/**
 * @param {SlotStatus[]} slots
 * @param {LoggedEvent[]} events
 * @returns {LoggedEvent[]}  The last unplanned death of each slot that had one, oldest first.
 */
function listLastDeaths(slots, events) {
  return slots
    .flatMap((slot) => {
      // "nclust reset" logs no event, but sets the restarts to zero.
      if (slot.status === 'online' && slot.restarts === 0) return [];
      return findLastDeath(events.filter((event) => isAboutSlot(slot, event))) ?? [];
    })
    .sort((a, b) => a.at - b.at);
}

/**
 * An event of another generation is not about the slot: it is from before a reload, or from an
 * instance on probation.
 * @param {SlotStatus} slot
 * @param {LoggedEvent} event
 */
function isAboutSlot(slot, { type, app, id, generation, slots }) {
  if (app === undefined) return type === 'manager:ending';
  if (app !== slot.name || (id !== undefined && id !== slot.id)) return false;
  if (type === 'stop') return slots?.includes(slot.slot) !== false;
  return type === 'added' || generation === undefined || generation === slot.generation;
}

/** A death before one of these events does not explain the present state. */
const BEGINNINGS = ['added', 'stop', 'rollout:began', 'manager:ending'];

/**
 * @param {LoggedEvent[]} events
 * @returns {LoggedEvent | null}  Null: none since the last event of BEGINNINGS, or the program
 *   finished its work.
 */
function findLastDeath(events) {
  const last = events.findLast(
    (event) => BEGINNINGS.includes(event.type) || (event.type === 'died' && !isAsked(event)),
  );
  if (last?.type !== 'died') return null;
  return events.some((done) => done.type === 'done' && isFinish(last, done)) ? null : last;
}

/**
 * @param {string} name
 * @param {ShownStatus} status
 */
function nextStep(name, status) {
  if (status === 'stopped') return `nclust start ${shellQuote(name)}`;
  if (status === 'online' || status === 'stopping') return null;
  return `nclust logs ${shellQuote(name)}${status === 'launching' ? '' : ' --err'}`;
}
