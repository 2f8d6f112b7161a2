import { describeEnd, withoutPrefix } from '../shared/death-text.js';
import { APART_MS, crashesOfSlots } from '../render/why/answer.js';

/** @import { LoggedEvent } from '../shared/event-log.js' */
/** @import { HeldSocket, SlotStatus } from '../shared/wire/protocol.js' */

/**
 * @typedef {object} Repeated  Something that happened to an app again and again.
 * @property {string} name
 * @property {number} times
 * @property {number} firstMs
 * @property {number} lastMs
 * @property {string} last  Describes the last time. Does not contain output of the app.
 */

/** If it happened less often, it is not reported. */
const TIMES_MIN = 3;

/**
 * @param {SlotStatus[]} slots
 * @param {LoggedEvent[]} events
 * @param {number} nowMs
 * @returns {Repeated[]}  Apps that are online or launching, but crash again and again.
 */
export function findCrashing(slots, events, nowMs) {
  return findRepeated(slots, nowMs, (own) => {
    const running = own.filter(({ status }) => status === 'online' || status === 'launching');
    return crashesOfSlots(running, events).map((event) => ({ at: event.at, text: describeEnd(event) }));
  });
}

/**
 * @param {SlotStatus[]} slots
 * @param {LoggedEvent[]} events
 * @param {number} nowMs
 * @returns {Repeated[]}  Apps that run, and that their memory limit replaces again and again.
 */
export function findOverLimit(slots, events, nowMs) {
  return findRepeated(slots, nowMs, (own, name) =>
    own.some(({ status }) => status === 'online' || status === 'launching')
      ? sinceChange(events.filter(({ app }) => app === name))
          .filter(({ type, at }) => type === 'limit:memory' && nowMs - at <= APART_MS)
          .map(({ at, by }) => ({ at, text: withoutPrefix(by) }))
      : [],
  );
}

/**
 * @param {LoggedEvent[]} own
 * @returns {LoggedEvent[]}  Those after the last command that added, stopped or replaced the app.
 */
function sinceChange(own) {
  const at = own.findLastIndex(
    ({ type, by }) =>
      type === 'added' || type === 'stop' || (type === 'rollout:began' && !String(by).startsWith('memory: ')),
  );
  return own.slice(at + 1);
}

/** An instance that is older than this should listen, because its boot has a limit of 10 s. */
const SETTLED_MS = 15_000;

/**
 * @param {HeldSocket[]} sockets
 * @param {SlotStatus[]} slots
 * @param {number} nowMs
 * @returns {HeldSocket[]}  Sockets that no instance uses, although all instances of the app have been
 *   online for a while.
 */
export function findUnserved(sockets, slots, nowMs) {
  const isSettled = (/** @type {SlotStatus} */ { status, startedAtMs }) =>
    status === 'online' && startedAtMs !== null && nowMs - startedAtMs > SETTLED_MS;
  return sockets.filter(({ app, users }) => {
    const own = slots.filter(({ name }) => name === app);
    return users.length === 0 && own.length > 0 && own.every(isSettled);
  });
}

/**
 * @param {SlotStatus[]} slots
 * @param {number} nowMs
 * @param {(own: SlotStatus[], name: string) => { at: number, text: string }[]} find  Oldest first.
 * @returns {Repeated[]}
 */
function findRepeated(slots, nowMs, find) {
  return [...new Set(slots.map(({ name }) => name))].flatMap((name) => {
    const found = find(
      slots.filter((slot) => slot.name === name),
      name,
    );
    const last = found.at(-1);
    return last && found.length >= TIMES_MIN && nowMs - last.at <= APART_MS
      ? [{ name, times: found.length, firstMs: found[0].at, lastMs: last.at, last: last.text }]
      : [];
  });
}
