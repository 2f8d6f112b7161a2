import { clockTime, coarse } from './event-time.js';
import { count, endOf, isAsked, quoted } from './event-text.js';
import { within } from './why-fold.js';

/** @typedef {import('../commands/why.js').Story} Story */
/** @typedef {import('../shared/event-log.js').LoggedEvent} LoggedEvent */
/** @typedef {import('../shared/protocol.js').ShownStatus} ShownStatus */
/** @typedef {import('../shared/protocol.js').SlotStatus} SlotStatus */

/** Deaths that are further apart belong to different stories. */
const APART_MS = 10 * 60_000;

/** Of several instances the worst is what the question is about. @type {ShownStatus[]} */
const WORST_FIRST = ['errored', 'waiting restart', 'launching', 'stopping', 'stopped', 'online'];

/**
 * What a person at night has to know first, in one line.
 * @param {Story} story
 * @param {{isRunning: boolean, nowMs: number}} o
 * @returns {{status: ShownStatus|'gone'|'unknown', text: string, next: string|null}}  `next`: the command to type.
 */
export function answerOf({ name, slots, events }, { isRunning, nowMs }) {
  const own = events.filter(({ app }) => app === name);
  if (slots.length === 0) return withoutSlots(name, own, { isRunning, nowMs });
  const status = /** @type {ShownStatus} */ (WORST_FIRST.find((one) => slots.some((slot) => slot.status === one)) ?? slots[0].status);
  const those = slots.filter((slot) => slot.status === status);
  const who = those.length === slots.length ? name : `${count(those.length, 'instance')} of ${slots.length} of ${name}`;
  const about = own.filter(({ id }) => id === undefined || those.some((slot) => slot.id === id));
  const sinceMs = sinceOf(status, those, about);
  const verb = those.length === slots.length || those.length === 1 ? 'is' : 'are';
  const since = sinceMs === null ? '' : ` since ${clockTime(sinceMs, nowMs)} (${coarse(nowMs - sinceMs)})`;
  return { status, text: `${who} ${verb} ${status}${since}${reasonOf(status, those, about)}${rolloutNote(status, own, nowMs)}`, next: nextStep(status, name) };
}

/**
 * @param {string} name
 * @param {LoggedEvent[]} own
 * @param {{isRunning: boolean, nowMs: number}} o
 * @returns {ReturnType<typeof answerOf>}
 */
function withoutSlots(name, own, { isRunning, nowMs }) {
  if (!isRunning) return { status: 'unknown', text: `No nclust runs, so nobody looks after ${name}; this is what was known until then${crashNote(own)}`, next: 'nclust resurrect' };
  const deleted = own.findLast(({ type }) => type === 'deleted');
  return { status: 'gone', text: `${name} is not in the list${deleted ? `: it was deleted at ${clockTime(deleted.at, nowMs)}, ${coarse(nowMs - deleted.at)} ago` : ' any more'}`, next: null };
}

/**
 * @param {ShownStatus} status
 * @param {SlotStatus[]} slots
 * @param {LoggedEvent[]} events
 * @returns {number|null}
 */
function sinceOf(status, slots, events) {
  const last = (/** @type {string[]} */ types) => events.findLast(({ type }) => types.includes(type))?.at ?? null;
  if (status === 'online' || status === 'launching') return slots.reduce((/** @type {number|null} */ first, { startedAtMs }) => (startedAtMs === null ? first : Math.min(first ?? Infinity, startedAtMs)), null);
  if (status === 'errored') return last(['gave-up', 'rollout:halted']) ?? last(['died']);
  if (status === 'waiting restart') return crashesOf(events)[0]?.at ?? null;
  return last(['stop', 'done', 'died']);
}

/**
 * @param {ShownStatus} status
 * @param {SlotStatus[]} slots
 * @param {LoggedEvent[]} events
 */
function reasonOf(status, slots, events) {
  if (status === 'online') return slots.some(({ restarts }) => restarts > 0) ? crashNote(events) : '';
  const stop = events.findLast(({ type }) => type === 'stop' || type === 'done');
  if (status === 'stopped' && stop?.type === 'stop') return `: ${stop.by?.includes(' ') ? stop.by : `nclust ${stop.by ?? 'stop'}`}`;
  if (status === 'stopped' && stop) return `: it ended by itself${crashNote(events).replace(/^:/, ',')}`;
  const waiting = slots[0].waitingFor ? `; it waits for ${slots[0].waitingFor}` : '';
  return `${status === 'stopping' ? '' : crashNote(events)}${waiting}`;
}

/** @param {LoggedEvent[]} events */
function crashNote(events) {
  const crashes = crashesOf(events);
  const last = crashes.at(-1);
  if (!last) return '';
  if (crashes.length === 1) return `: it died once, ${endOf(last)}${quoted(last)}`;
  return `: it crashed ${crashes.length} times within ${within(crashes[0].at, last.at)}; last: ${endOf(last)}${quoted(last)}`;
}

/**
 * The deaths nobody asked for that belong together, the last of them at the end.
 * @param {LoggedEvent[]} events
 */
export function crashesOf(events) {
  /** @type {LoggedEvent[]} */
  const crashes = [];
  for (const event of events.toReversed()) {
    if (crashes.length > 0 && (crashes[0].at - event.at > APART_MS || ['added', 'stop', 'rollout:began', 'gave-up'].includes(event.type))) break;
    if (event.type === 'died' && !isAsked(event)) crashes.unshift(event);
  }
  return crashes;
}

/** @param {ShownStatus} status @param {LoggedEvent[]} own @param {number} nowMs */
function rolloutNote(status, own, nowMs) {
  const last = own.findLast(({ type }) => type === 'rollout:done' || type === 'rollout:began' || type === 'rollout:halted' || type === 'rollout:rolled-back');
  if (!last || last.type === 'rollout:began' || last.type === 'rollout:done') return '';
  const what = last.type === 'rollout:halted' ? 'was halted' : 'was rolled back';
  return `${status === 'online' ? ', but' : ';'} its last reload ${what} at ${clockTime(last.at, nowMs)}: ${last.reason}`;
}

/** @param {ShownStatus} status @param {string} name */
function nextStep(status, name) {
  if (status === 'errored' || status === 'waiting restart') return `nclust logs ${name} --err`;
  if (status === 'launching') return `nclust logs ${name}`;
  return status === 'stopped' ? `nclust start ${name}` : null;
}
